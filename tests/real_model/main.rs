//! A small real model behind the whole path: runtime, effect, dialect, sockets.
//!
//! `cargo xtask real-model` brings a server up and runs this; a test started without one fails. No test asks for words
//! of the model's, other than those that the model gave to the same greedy request before.

#[cfg(test)]
mod crowd;
#[cfg(test)]
mod cuts;
#[cfg(test)]
mod hang_up;
#[cfg(test)]
mod model;
#[cfg(test)]
mod relay;
#[cfg(test)]
mod severs;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod view;
