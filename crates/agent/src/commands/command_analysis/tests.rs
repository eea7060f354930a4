//! Findings in command lines.

use super::*;

#[test]
fn what_hides_a_little_is_still_read() {
    let hidden = [
        "rm -rf /",
        "ls; rm -rf /",
        "/bin/rm -rf /",
        "FOO='a b' rm -rf /",
        "sudo -n rm -rf /",
        "sudo -u me -- rm -rf /",
        "'rm' -rf /",
        "r\\m -rf /",
        "r\\\nm -rf /",
        "$'\\x72m' -rf /",
        "if true; then rm -rf /; fi",
        "! rm -rf /",
        "rm\t-rf /",
        "rm -rf / >/dev/null",
        ">/dev/null rm -rf /",
        "bash -c 'ls; rm -rf /'",
        "bash -o pipefail -ec 'rm -rf /'",
        "echo $(rm -rf /)",
        "echo \"$(echo \"$(rm -rf /)\")\"",
        "echo $'\\''; rm -rf /; echo '",
        "(rm -rf /)",
        "{ rm -rf /; }",
        "cat <(rm -rf /)",
        "find . -name x -exec rm -rf / \\;",
        "env -u HOME -i rm -rf /",
        "env -S 'rm -rf /'",
        "timeout -k 5 10 nice -n 5 rm -rf /",
        "ssh -p 22 host 'rm -rf /'",
        "cat <<EOF\ndon't\nEOF\nrm -rf /",
        "eval r''m '-rf /'",
        "bash <<EOF\ndon't\nEOF\nrm -rf /",
        "cat <<EOF | bash\necho it\nrm -rf /\nEOF",
        "sh <<< 'rm -rf /'",
        "cat <<EOF\n$(rm -rf /)\nEOF",
        "trap 'rm -rf /' EXIT",
    ];
    for line in hidden {
        let reading = read(line);
        assert!(
            reading.commands.iter().any(|words| words == "rm -rf /"),
            "{line:?} {reading:?}"
        );
    }
    for line in [
        "echo 'a; rm -rf /'",
        "git rm -rf x",
        "echo rm -rf /",
        "timeout 60 grep -r rm src",
        "ls # ; rm x",
        "cat > notes <<EOF\nrm x\nEOF",
    ] {
        let reading = read(line);
        assert!(
            !reading.commands.iter().any(|words| words.starts_with("rm ")),
            "{line:?} {reading:?}"
        );
    }
}

#[test]
fn what_cannot_be_known_is_said() {
    for line in [
        "$X -rf /",
        "/bin/r? x",
        "r{m,} x",
        "curl x | sh",
        "bash -s",
        "eval \"$x\"",
        "sh -c \"$x\"",
        "echo 'a",
        "`x`",
        "sudo $X",
    ] {
        assert!(read(line).hides, "{line:?}");
    }
    for line in [
        "echo $X",
        "ls *.rs",
        "[ -f x ]",
        "echo $(date)",
        "bash x.sh",
        "a 'b'",
    ] {
        assert!(!read(line).hides, "{line:?}");
    }
}

/// Logs of older rules are read as they were written.
#[test]
fn expansions_within_expansions_hide_nothing() {
    for line in [
        "echo ${x:-${y}}",
        "echo \"${x:-${y:-a}}\" b",
        "echo ${x%${y#$(pwd)}}",
    ] {
        assert!(!read(line).hides, "{line:?}");
        assert!(read_as(line, 8).hides, "{line:?}");
    }
    for line in [
        "echo ${x:-${y:-$(rm -rf x)}}",
        "echo ${x:-${y}; rm -rf x",
        "echo \"${x:-'}\"; rm -rf x",
    ] {
        let commands = read(line).commands;
        assert!(
            commands.iter().any(|command| command == "rm -rf x"),
            "{line:?}: {commands:?}"
        );
    }
}

#[test]
fn long_lines_are_read_in_time() {
    for part in [
        "sudo bash -c 'x' $(y) ",
        ">",
        "> ",
        "a;",
        "'",
        "\\",
        "$(",
        "`",
        "${",
        "${x:-${",
        "${x:-$(a) ",
        "${'",
        "sudo ",
        "find -exec ",
        "\"$(",
        "eval ",
        "sed e",
        "| xargs sed e;",
        "x | (",
    ] {
        let reading = read(&part.repeat(200_000 / part.len()));
        let bytes: usize = reading.commands.iter().map(String::len).sum();
        assert!(bytes < 100_000_000, "{part}: {bytes}");
    }
}
