//! Captures and the event log.
