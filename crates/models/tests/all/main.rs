//! Predicted machines: files, memory, links, sockets, threads.

mod files;
mod fit;
mod groups;
mod inference;
mod phenom;
mod schedulers;
mod sockets;
mod twin;
