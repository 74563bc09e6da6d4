//! The other host of a connection, written out: it sends the segments that a test wants, and shows what the kernel answers.
