//! The pure agent machines: ReAct, its run state, tool ledger, limits, approvals and context assembly.
