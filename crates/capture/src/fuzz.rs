//! Entry points for fuzzing: each takes any bytes and must return.

/// The reader of the event log.
pub fn log(bytes: &[u8]) {
    if let Ok(reader) = crate::fates::LogReader::new(bytes) {
        reader.for_each(drop);
    }
}

/// The reader of captures.
pub fn capture(bytes: &[u8]) {
    if let Ok(reader) = crate::packets::Reader::new(bytes) {
        reader.for_each(drop);
    }
}

/// The reader of the log of senders' states.
pub fn senders(bytes: &[u8]) {
    if let Ok(reader) = crate::senders::LogReader::new(bytes) {
        reader.for_each(drop);
    }
}

/// The reader of the log of link layers.
pub fn link_layer(bytes: &[u8]) {
    if let Ok(reader) = crate::link_layer::LogReader::new(bytes) {
        reader.for_each(drop);
    }
}
