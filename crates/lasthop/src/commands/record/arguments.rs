//! Arguments of `lasthop record`.

use clap::Args;
use link::units::{BitRate, Span};
use std::path::PathBuf;

/// UDP port of a server.
pub const PORT: u16 = 7130;

/// Arguments of `lasthop record`.
#[derive(Debug, Args)]
#[command(after_help = "\
A server runs at the far end of the link (`--serve`), and the client on the wireless host names it
as HOST. Both have the same file KEY: the server makes it if it does not exist; copy it to the
client. A server answers only hosts that have the key and receive packets at their address.

The client measures in three phases: short trains both ways on the idle link, a flow that saturates
the uplink, and one that saturates the downlink. Use the link for nothing else meanwhile. Each end
sends at most --max-rate for --heavy, which the client prints before it begins.

OUT is a new directory with these files:
  profile.toml           the fitted rate, queue, delay and losses of both directions
  replay.toml            a profile that replays the traces, with the fitted losses
  up-delay-light-pdo, up-heavy-pdo, down-delay-light-pdo, down-heavy-pdo
                         the traces in CellReplay's format
  probes.csv             every packet with its times

The clocks of the two hosts need not agree: the delay is half of the round-trip time in each
direction.

Examples:
  lasthop record --serve 0.0.0.0 --key record.key            (at the far end)
  lasthop record host.example --key record.key -o walk       (on the wireless host)
  lasthop link --profile walk/profile.toml -- bash
  lasthop link --profile walk/replay.toml -- bash")]
pub struct RecordArguments {
    /// Host that runs `lasthop record --serve`: name or address, and its port
    #[arg(value_name = "HOST[:PORT]", required_unless_present = "serve")]
    pub host: Option<String>,
    /// Serve clients at this address of this host [default port: 7130]
    #[arg(
        long,
        value_name = "ADDRESS[:PORT]",
        conflicts_with_all = ["host", "out", "light", "heavy", "train", "interval", "size", "together"]
    )]
    pub serve: Option<String>,
    /// File with the key that both ends share
    #[arg(short, long, value_name = "FILE")]
    pub key: PathBuf,
    /// Directory to write, which must not exist yet
    #[arg(short, long, value_name = "OUT", required_unless_present = "serve")]
    pub out: Option<PathBuf>,
    /// Length of the phase with trains on the idle link
    #[arg(long, value_name = "TIME", default_value = "20s")]
    pub light: Span,
    /// Length of each phase with a saturating flow
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub heavy: Span,
    /// Packets in a train
    #[arg(long, value_name = "PACKETS", default_value_t = 10)]
    pub train: u16,
    /// Least time between two trains
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    pub interval: Span,
    /// Length of a large IP packet
    #[arg(long, value_name = "BYTES", default_value_t = 1396)]
    pub size: u16,
    /// Highest rate to send at: for a server, the highest that a client may ask for
    #[arg(long, value_name = "RATE", default_value = "100mbit")]
    pub max_rate: BitRate,
    /// Saturate both directions at the same time
    #[arg(long)]
    pub together: bool,
    /// With --serve: end after this number of clients
    #[arg(long, value_name = "CLIENTS", requires = "serve")]
    pub clients: Option<u64>,
    /// Print no progress
    #[arg(short, long)]
    pub quiet: bool,
}
