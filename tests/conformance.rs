//! Tests of every runtime, written against the trait alone and run on each: the one that acts, and the one
//! that speaks to a server. What one of them answers, the other answers too; if it says no, it says the same
//! no.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "conformance/agents.rs"]
mod agents;
#[path = "conformance/condensing.rs"]
mod condensing;
#[path = "conformance/errors.rs"]
mod errors;
#[path = "conformance/files.rs"]
mod files;
#[path = "conformance/following.rs"]
mod following;
#[path = "conformance/looking.rs"]
mod looking;
#[path = "conformance/place.rs"]
mod place;
#[path = "conformance/runs.rs"]
mod runs;
#[path = "conformance/sessions.rs"]
mod sessions;

/// Each of these tests, on both runtimes.
macro_rules! on_both {
    ($($group:ident: $($test:ident)*;)*) => {
        mod node {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    crate::place::soon(crate::$group::$test(crate::place::Place::node().await)).await;
                }
            )*)*
        }
        mod remote {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    crate::place::soon(crate::$group::$test(crate::place::Place::remote().await)).await;
                }
            )*)*
        }
    };
}

on_both! {
    runs:
        an_input_is_answered
        a_tool_is_run
        a_call_is_decided_about_once
        a_call_that_is_refused_is_not_made
        what_runs_is_stopped
        with_nothing_to_stop_nothing_is_put_on_record
        inputs_wait_for_their_turn
        what_is_said_twice_with_one_key_is_said_once
        a_picture_becomes_a_blob
        a_picture_for_a_model_that_takes_none_is_refused;
    following:
        each_view_is_the_same_from_every_place
        what_happens_comes_after_what_was_there
        many_readers_get_the_same
        the_end_of_a_session_ends_its_readers;
    sessions:
        a_session_goes_on_where_it_was
        changes_are_kept
        a_title_is_listed
        lists_have_an_order_and_bounds
        an_id_is_found_by_its_beginning
        a_fork_has_all_up_to_its_point
        a_session_that_was_deleted_is_gone;
    looking:
        what_is_stored_is_good_and_derives_again
        the_request_of_a_model_is_shown
        words_are_found
        models_and_tools_are_those_of_the_runtime;
    agents:
        agents_of_files_are_those_of_the_runtime
        a_session_is_opened_with_an_agent_by_its_name
        an_agent_that_cannot_be_had_is_named;
    condensing:
        a_conversation_is_condensed_shown_and_restored
        what_is_not_condensed_is_not_restored;
    files:
        what_a_call_would_change_is_shown
        files_go_back_and_that_is_taken_back;
    errors:
        what_is_not_there_is_not_there
        what_makes_no_sense_is_refused
        a_session_that_was_closed_says_so
        a_model_that_cannot_be_asked_is_named;
}
