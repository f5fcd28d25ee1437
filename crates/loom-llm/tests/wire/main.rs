//! The decoder, the dialect, the transport and the governed effect against a scripted peer on loopback and recorded
//! provider streams.

#[cfg(test)]
mod collecting;
#[cfg(test)]
mod dialect;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod governed;
#[cfg(test)]
mod hang_up;
#[cfg(test)]
mod peer;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod sse;
#[cfg(test)]
mod timeouts;
