//! The tests of this crate as one binary, because each one links the whole of what it uses.

mod acting;
mod asking_again;
mod blobs;
mod children;
mod condenser;
mod driver;
mod ingress;
mod journals;
mod reactors;
mod streams;
