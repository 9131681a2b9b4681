//! Chains in registers and through memory, in the instructions of x86-64.

core_loops! {
    multiply: ["imul {product:e}, {factor:e}"],
    rotate: ["ror {value}, {bits}"],
    ports: [
        "add {s0}, {one}", "add {s1}, {one}", "add {s2}, {one}", "add {s3}, {one}",
        "add {s4}, {one}", "add {s5}, {one}", "add {s6}, {one}", "add {s7}, {one}"
    ],
    forward: ["add {value}, {one}", "mov qword ptr [{word}], {value}", "movzx {value:e}, word ptr [{word}]"],
    divide in xmm_reg: ["andpd {quotient}, {zero}", "orpd {quotient}, {dividend}", "divsd {quotient}, {divisor}"],
    bypass: [
        "mov {late:e}, {node:e}",
        ".rept 5",
        "imul {late:e}, {factor:e}",
        ".endr",
        "shr {late:e}, {shift}",
        "mov [{targets} + {late} * 8], {rounds}",
        "mov {node}, [{nodes} + {node} * 8]"
    ],
    walk: ["mov {node}, [{node}]"],
    walk_offsets: ["mov {offset}, [{block} + {offset}]", "and {offset}, {mask}"],
}
