//! SipHash-2-4: a short hash that nobody can compute, or try out, without the key.
//!
//! Source: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012.

/// The hash of `bytes` under a key of 128 bits. With a key that is public it only tells texts from each other.
pub fn keyed_hash(key: [u64; 2], bytes: &[u8]) -> u64 {
    // "somepseudorandomlygeneratedbytes", section 2.1.
    let mut v = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        compress(&mut v, u64::from_le_bytes(word.try_into().expect("chunks of eight bytes")));
    }
    // The last word holds the bytes that are left, and the length above them.
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    last[7] = bytes.len() as u8;
    compress(&mut v, u64::from_le_bytes(last));
    v[2] ^= 0xff;
    (0..4).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn compress(v: &mut [u64; 4], word: u64) {
    v[3] ^= word;
    (0..2).for_each(|_| round(v));
    v[0] ^= word;
}

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[2] = v[2].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[1]);
    v[0] = v[0].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of the paper's appendix A: bytes 0 to 15.
    const KEY: [u64; 2] = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];

    #[test]
    fn the_paper_s_message_has_the_paper_s_hash() {
        let message: Vec<u8> = (0..15).collect();
        assert_eq!(keyed_hash(KEY, &message), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn key_length_and_every_byte_count() {
        let messages: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"a", b"aaaaaaaa", b"aaaaaaaaa"];
        let mut seen = std::collections::BTreeSet::new();
        for message in messages {
            assert!(seen.insert(keyed_hash(KEY, message)) && seen.insert(keyed_hash([1, 2], message)));
        }
    }
}
