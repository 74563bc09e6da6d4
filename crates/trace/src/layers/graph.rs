//! Graphs of a multi-layer view: values, without any drawing.

use serde::Serialize;

/// Everything that is drawn together.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct View {
    /// What is shown: the connection, the run.
    pub title: String,
    /// The graphs, those of one layer beside each other.
    pub graphs: Vec<Graph>,
    /// Slopes that say a rate.
    pub regressions: Vec<Regression>,
    /// What was left out or guessed, in sentences.
    pub notes: Vec<String>,
}

/// One graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Graph {
    /// Ludwig's label: `TcpSnd_Data`, `RlpRcv_XON`, … (3.2.1).
    pub label: String,
    /// What it is about.
    pub layer: Layer,
    /// How it is drawn.
    pub shape: Shape,
    /// Bytes that are added to each of its values, so that layers do not cover each other (10 000
    /// from layer to layer, LL-17).
    pub offset: f64,
    /// In the order of their times.
    pub points: Vec<Point>,
}

/// An event, or a state from then on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Nanoseconds since time zero: the SYN of the connection, at the end that noted this.
    pub time_ns: i64,
    /// Bytes, without the graph's offset.
    pub bytes: f64,
}

/// What a graph is about.
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
    /// What TCP's sender sent and its receiver did not get.
    Lost,
    /// The state of the TCP sender: congestion window, slow-start threshold.
    SenderState,
}

/// How a graph is drawn.
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
    /// The graph that it goes through.
    pub label: String,
    /// From this time on, in nanoseconds since time zero.
    pub from_ns: i64,
    /// Until this time.
    pub to_ns: i64,
    /// Bytes at `from_ns`, without the graph's offset.
    pub bytes: f64,
    /// Bytes a second.
    pub slope: f64,
}
