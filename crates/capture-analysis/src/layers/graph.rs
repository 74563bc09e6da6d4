//! Graphs of a multi-layer view: values, without any drawing.

use serde::Serialize;

/// Everything that is drawn together for one connection.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct View {
    /// Names the connection and the capture.
    pub title: String,
    /// The graphs, those of one layer beside each other.
    pub graphs: Vec<Graph>,
    /// Lines whose slopes are rates.
    pub regressions: Vec<Regression>,
    /// What is missing or estimated, in sentences.
    pub notes: Vec<String>,
}

/// One graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Graph {
    /// Ludwig's label: `TcpSnd_Data`, `RlpRcv_XON`, … (3.2.1).
    pub label: String,
    /// Layer that it shows.
    pub layer: Layer,
    /// Drawing style.
    pub shape: Shape,
    /// Bytes added to each of its values, so that layers do not cover each other (10 000 between
    /// layers, LL-17).
    pub offset: f64,
    /// Its points, in the order of time.
    pub points: Vec<Point>,
}

/// An event, or a state from an instant on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Nanoseconds since time zero: the connection's SYN at the end that recorded this.
    pub time_ns: i64,
    /// Bytes, without the graph's offset.
    pub bytes: f64,
}

/// Layer and end that a graph shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// TCP at the sender of the data.
    TcpSender,
    /// TCP at the receiver of the data.
    TcpReceiver,
    /// The link layer's end that sends the data.
    LinkSender,
    /// The link layer's end that receives it.
    LinkReceiver,
    /// Segments that TCP's sender sent and its receiver did not get.
    Lost,
    /// The state of the TCP sender: congestion window, slow-start threshold.
    SenderState,
}

/// Drawing style of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A dot for each point: segments, frames.
    Dots,
    /// A cross for each point: acknowledgements.
    Crosses,
    /// A value that holds until the next point: windows.
    Steps,
    /// A mark over the whole height: resets, XON, XOFF.
    Marks,
}

/// A straight line through a part of a graph, by least squares.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Regression {
    /// Label of the graph that it runs through.
    pub label: String,
    /// Start, in nanoseconds since time zero.
    pub from_ns: i64,
    /// End, in nanoseconds since time zero.
    pub to_ns: i64,
    /// Bytes at `from_ns`, without the graph's offset.
    pub bytes: f64,
    /// Slope in bytes per second.
    pub slope: f64,
}
