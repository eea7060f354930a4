//! A chat of a server in whose session as much waits as may.
#![cfg(unix)]

use crate::common::Sandbox;
use crate::pty::Pty;
use crate::serving::Serving;

/// Behaves as on a full disk: words that the queue did not take are not typed again.
#[test]
fn words_that_a_full_queue_did_not_take_are_in_the_input_again() {
    let sandbox = Sandbox::new();
    let set = sandbox.run(&["config", "set", "quotas.queued_messages", "1"]);
    assert_eq!(set.code, Some(0), "{set}");
    let server = Serving::start(&sandbox);
    let mut chat = Pty::start(&sandbox, &["--connect", &server.url, "chat", "--yes"], 100, 40);
    chat.wait_for_last("›");
    chat.keys("run sleep 1000\r");
    chat.wait_for("bash runs");
    chat.keys("and then this\r");
    chat.wait_for("  1 › and then this");
    chat.keys("one word more\r");
    chat.wait_for("messages with");
    chat.wait_for("bytes are queued in this");
    chat.wait_for_last("› one word more");
    // The agent takes up what waits, and there is room.
    chat.keys("\u{15}\u{1b}");
    chat.wait_for("■ stopped");
}
