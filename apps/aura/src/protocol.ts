// The types of the protocol, generated from the Rust types. Nothing about the wire is written twice.
export type * from "../../../docs/protocol/agentx.v1";
