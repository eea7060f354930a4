//! Numbers and texts as bytes, and back, for the records of the log. Stored bytes are outside input, so every
//! number and every length is checked.

pub(crate) fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

pub(crate) fn unzigzag(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}

pub(crate) fn put_varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

pub(crate) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

pub(crate) fn put_optional(text: Option<&str>, out: &mut Vec<u8>) {
    put_varint(text.map_or(0, |text| text.len() as u64 + 1), out);
    out.extend_from_slice(text.unwrap_or_default().as_bytes());
}

pub(crate) fn take_varint(input: &mut &[u8]) -> Result<u64, String> {
    let mut n = 0u64;
    for shift in (0..64).step_by(7) {
        let [byte] = take(input)?;
        n |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(n);
        }
    }
    Err("a number that does not end".to_owned())
}

pub(crate) fn take_length(input: &mut &[u8]) -> Result<usize, String> {
    usize::try_from(take_varint(input)?).map_err(|_| "a length beyond memory".to_owned())
}

pub(crate) fn take<const N: usize>(input: &mut &[u8]) -> Result<[u8; N], String> {
    let (bytes, rest) = input.split_first_chunk::<N>().ok_or_else(ends_early)?;
    *input = rest;
    Ok(*bytes)
}

pub(crate) fn take_str<'a>(input: &mut &'a [u8], length: usize) -> Result<&'a str, String> {
    let (bytes, rest) = input.split_at_checked(length).ok_or_else(ends_early)?;
    *input = rest;
    std::str::from_utf8(bytes).map_err(|_| "text that is not UTF-8".to_owned())
}

pub(crate) fn take_optional<'a>(input: &mut &'a [u8]) -> Result<Option<&'a str>, String> {
    match take_length(input)? {
        0 => Ok(None),
        length => take_str(input, length - 1).map(Some),
    }
}

fn ends_early() -> String {
    "a record that ends early".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for n in [0, 1, -1, 63, 64, -64, 1 << 20, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            put_varint(zigzag(n), &mut out);
            assert_eq!(take_varint(&mut out.as_slice()).map(unzigzag), Ok(n));
        }
        assert!(take_varint(&mut [0xff; 11].as_slice()).is_err());
    }
}
