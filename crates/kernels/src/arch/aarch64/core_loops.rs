//! Chains in registers and through memory, in the instructions of arm64.

core_loops! {
    multiply: ["mul {product:w}, {product:w}, {factor:w}"],
    rotate: ["ror {value}, {value}, #{bits}"],
    ports: [
        "add {s0}, {s0}, {one}", "add {s1}, {s1}, {one}", "add {s2}, {s2}, {one}", "add {s3}, {s3}, {one}",
        "add {s4}, {s4}, {one}", "add {s5}, {s5}, {one}", "add {s6}, {s6}, {one}", "add {s7}, {s7}, {one}"
    ],
    forward: ["add {value}, {value}, {one}", "str {value}, [{word}]", "ldrh {value:w}, [{word}]"],
    divide in vreg: [
        "and {quotient:v}.8b, {quotient:v}.8b, {zero:v}.8b",
        "orr {quotient:v}.8b, {quotient:v}.8b, {dividend:v}.8b",
        "fdiv {quotient:d}, {quotient:d}, {divisor:d}"
    ],
    bypass: [
        "mov {late:w}, {node:w}",
        ".rept 5",
        "mul {late:w}, {late:w}, {factor:w}",
        ".endr",
        "lsr {late:w}, {late:w}, #{shift}",
        "str {rounds}, [{targets}, {late}, lsl #3]",
        "ldr {node}, [{nodes}, {node}, lsl #3]"
    ],
    walk: ["ldr {node}, [{node}]"],
    walk_offsets: ["ldr {offset}, [{block}, {offset}]", "and {offset}, {offset}, {mask}"],
}
