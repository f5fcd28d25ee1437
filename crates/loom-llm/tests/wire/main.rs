//! The decoder, the dialect, the transport and the governed effect against a scripted peer on loopback and recorded
//! provider streams.

#[cfg(test)]
mod anthropic;
#[cfg(test)]
mod collecting;
#[cfg(test)]
mod decoded;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod google;
#[cfg(test)]
mod governed;
#[cfg(test)]
mod hang_up;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod openai;
#[cfg(test)]
mod peer;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod sse;
#[cfg(test)]
mod timeouts;
#[cfg(test)]
mod tls;
