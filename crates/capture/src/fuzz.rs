//! Entry points for fuzzing. Each takes any bytes and must return.

/// Fuzzes the reader of the event log.
pub fn log(bytes: &[u8]) {
    if let Ok(reader) = crate::fates::LogReader::new(bytes) {
        reader.for_each(drop);
    }
}

/// Fuzzes the reader of captures.
pub fn capture(bytes: &[u8]) {
    if let Ok(reader) = crate::packets::Reader::new(bytes) {
        reader.for_each(drop);
    }
}

/// Fuzzes the reader of the log of sender states.
pub fn senders(bytes: &[u8]) {
    if let Ok(reader) = crate::senders::LogReader::new(bytes) {
        reader.for_each(drop);
    }
}

/// Fuzzes the reader of the log of link layers.
pub fn link_layer(bytes: &[u8]) {
    if let Ok(reader) = crate::link_layer::LogReader::new(bytes) {
        reader.for_each(drop);
    }
}
