// The words by which a plan is accepted, as `AskedQuestion::is_plan` of the protocol says.
export const ACCEPT_PLAN = "Accept the plan";
