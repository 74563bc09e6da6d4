//! Writer of the format. It knows blocks and options, but not links.

use crate::units::WallTime;
use packet::Layer;
use std::io::{self, Write};

/// Writes blocks to `W`, which should be buffered.
pub struct Writer<W> {
    output: W,
    interfaces: u32,
    snap_length: u32,
    /// The block being built; kept to reuse its memory.
    block: Vec<u8>,
}

/// One end of a link.
#[derive(Debug, Clone, Copy)]
pub struct Interface<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its description, for readers.
    pub description: &'a str,
    /// Layer at which its packets start.
    pub layer: Layer,
    /// Its rate in bit/s, if it has one.
    pub bits_per_second: Option<u64>,
}

/// A packet at one interface.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// Number of the interface, as returned by [`Writer::interface`].
    pub interface: u32,
    /// When it was there.
    pub time: WallTime,
    /// Its length in bytes.
    pub length: u32,
    /// Its first bytes; the writer cuts them at the snap length.
    pub bytes: &'a [u8],
    /// The comment; none if empty.
    pub comment: &'a str,
    /// Whether the machine at this end received it, rather than sent it.
    pub inbound: bool,
    /// Whether the link found its checksum wrong.
    pub wrong_checksum: bool,
}

mod block {
    pub const SECTION: u32 = 0x0A0D_0D0A;
    pub const INTERFACE: u32 = 1;
    pub const PACKET: u32 = 6;
}

mod option {
    pub const END: u16 = 0;
    pub const COMMENT: u16 = 1;
    pub const HARDWARE: u16 = 2;
    pub const OS: u16 = 3;
    pub const APPLICATION: u16 = 4;
    pub const NAME: u16 = 2;
    pub const DESCRIPTION: u16 = 3;
    pub const SPEED: u16 = 8;
    pub const TIME_RESOLUTION: u16 = 9;
    pub const FLAGS: u16 = 2;
}

/// Number of the bit in a packet's flags that reports a checksum error of the link.
const WRONG_CHECKSUM: u32 = 24;

/// `if_tsresol`: the unit of time is 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Longest text of an option. The format has 16 bits for the length, padding included.
const LONGEST_TEXT: usize = 65_532;

impl<W: Write> Writer<W> {
    /// Begins a section, written by `application`, with at most `snap_length` bytes of each packet.
    pub fn new(output: W, application: &str, snap_length: u32) -> io::Result<Self> {
        let mut writer = Self { output, interfaces: 0, snap_length, block: Vec::new() };
        writer.begin(block::SECTION);
        writer.block.extend(0x1A2B_3C4D_u32.to_le_bytes());
        writer.block.extend(1_u16.to_le_bytes());
        writer.block.extend(0_u16.to_le_bytes());
        // The length of the section is not known in advance.
        writer.block.extend(u64::MAX.to_le_bytes());
        writer.text(option::HARDWARE, std::env::consts::ARCH);
        writer.text(option::OS, std::env::consts::OS);
        writer.text(option::APPLICATION, application);
        writer.option(option::END, &[]);
        writer.end()?;
        Ok(writer)
    }

    /// Adds an interface and returns its number.
    pub fn interface(&mut self, interface: &Interface<'_>) -> io::Result<u32> {
        let link_type: u16 = match interface.layer {
            Layer::Ethernet => 1,
            Layer::Ip => 101,
        };
        self.begin(block::INTERFACE);
        self.block.extend(link_type.to_le_bytes());
        self.block.extend(0_u16.to_le_bytes());
        self.block.extend(self.snap_length.to_le_bytes());
        self.text(option::NAME, interface.name);
        if !interface.description.is_empty() {
            self.text(option::DESCRIPTION, interface.description);
        }
        if let Some(rate) = interface.bits_per_second {
            self.option(option::SPEED, &rate.to_le_bytes());
        }
        self.option(option::TIME_RESOLUTION, &[NANOSECONDS]);
        self.option(option::END, &[]);
        self.end()?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Adds a packet.
    pub fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let kept = packet.bytes.len().min(self.snap_length as usize);
        let time = packet.time.as_nanos();
        self.begin(block::PACKET);
        self.block.extend(packet.interface.to_le_bytes());
        self.block.extend(((time >> 32) as u32).to_le_bytes());
        self.block.extend((time as u32).to_le_bytes());
        self.block.extend((kept as u32).to_le_bytes());
        self.block.extend(packet.length.to_le_bytes());
        self.block.extend(&packet.bytes[..kept]);
        self.pad();
        if !packet.comment.is_empty() {
            self.text(option::COMMENT, packet.comment);
        }
        // Bits 0 and 1 of the flags: 01 inbound, 10 outbound.
        let direction: u32 = if packet.inbound { 1 } else { 2 };
        let flags = direction | u32::from(packet.wrong_checksum) << WRONG_CHECKSUM;
        self.option(option::FLAGS, &flags.to_le_bytes());
        self.option(option::END, &[]);
        self.end()
    }

    /// Flushes the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// Returns the output.
    pub fn get_ref(&self) -> &W {
        &self.output
    }

    /// Consumes the writer and returns the output.
    pub fn into_inner(self) -> W {
        self.output
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.block.extend(kind.to_le_bytes());
        // Room for the length.
        self.block.extend([0; 4]);
    }

    fn text(&mut self, code: u16, text: &str) {
        let mut end = text.len().min(LONGEST_TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.option(code, &text.as_bytes()[..end]);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.block.extend(value);
        self.pad();
    }

    /// Pads the block: every part starts at a multiple of four bytes.
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn end(&mut self) -> io::Result<()> {
        let length = (self.block.len() as u32 + 4).to_le_bytes();
        self.block[4..8].copy_from_slice(&length);
        self.block.extend(length);
        self.output.write_all(&self.block)
    }
}
