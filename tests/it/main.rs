//! Drives the real program over HTTP.
