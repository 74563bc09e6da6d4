//! The file: an index of the tiles as JSON, the script and the style, and the tiles as texts of
//! elements that the browser does not run.

use super::grid::Grid;
use super::pyramid::{TILE, levels};
use super::tile;
use super::whole::{Extent, Points, Whole};
use crate::html::{data, head};
use capture::output::Pending;
use capture_analysis::layers::graph::{Graph, Layer, Point, Regression, Shape, View};
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Version of the data that the page reads; `web/src/layers/data.ts` has the same.
const SCHEMA: u32 = 1;

/// Built from `web/src/layers/` by `npm run build`.
const SCRIPT: &str = include_str!("../../assets/layers.js");
const STYLE: &str = include_str!("../../assets/layers.css");

/// The page could not be written.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot write the page of the multi-layer view to {path}: {source}; choose a folder that exists and has free space"
)]
pub struct WriteError {
    path: PathBuf,
    source: io::Error,
}

/// Writes the page to `path`, completely or not at all.
///
/// Points whose value is not finite are left out, as are points that equal another one of their
/// graph.
pub fn write(path: &Path, view: &View) -> Result<(), WriteError> {
    let written = Pending::begin(path).and_then(|pending| {
        let mut file = BufWriter::new(pending.file()?);
        page(view, &mut file)?;
        file.flush()?;
        pending.finish()
    });
    written.map_err(|source| WriteError { path: path.to_owned(), source })
}

/// Data that the page has before it reads any point.
#[derive(Debug, Serialize)]
struct Index<'a> {
    schema: u32,
    title: &'a str,
    notes: &'a [String],
    regressions: &'a [Regression],
    /// Height of a cell in bytes over its length in nanoseconds, as a binary logarithm.
    ratio: i32,
    graphs: Vec<GraphIndex<'a>>,
}

#[derive(Debug, Serialize)]
struct GraphIndex<'a> {
    label: &'a str,
    layer: Layer,
    shape: Shape,
    offset: f64,
    /// Number of points before any was left out.
    points: usize,
    /// Nanoseconds per step of its packed times.
    step_ns: i64,
    /// Bytes per unit of its packed values.
    unit: f64,
    levels: Vec<LevelIndex>,
}

#[derive(Debug, Serialize)]
struct LevelIndex {
    /// See [`super::pyramid::Level`].
    level: Option<i32>,
    /// Number of its first tile; the others follow.
    first: usize,
    /// For each tile: number of points, first and last time (ns), lowest and highest value (units).
    tiles: Vec<(usize, i64, i64, i64, i64)>,
}

/// A tile's number and its text.
type Tile = (usize, String);

fn page(view: &View, file: &mut impl Write) -> io::Result<()> {
    let grid = grid(view);
    let (mut overview, mut rest): (Vec<Tile>, Vec<(Option<i32>, Tile)>) = (Vec::new(), Vec::new());
    let mut graphs = Vec::new();
    let mut next = 0;
    for graph in &view.graphs {
        let points = Points::of(&graph.points);
        let step_ns = tile::step(&points.points);
        let mut known = Vec::new();
        for level in levels(&points, graph.shape, grid) {
            let first = next;
            let mut tiles = Vec::new();
            for places in level.places.chunks(TILE) {
                let chosen: Vec<Whole> = places.iter().map(|&place| points.points[place as usize]).collect();
                let Some(Extent { from, to, low, high }) = Extent::of(chosen.iter().copied()) else {
                    continue;
                };
                tiles.push((chosen.len(), from, to, low, high));
                let text = (next, tile::pack(&chosen, step_ns)?);
                if level.level.is_none() {
                    overview.push(text);
                } else {
                    rest.push((level.level, text));
                }
                next += 1;
            }
            known.push(LevelIndex { level: level.level, first, tiles });
        }
        graphs.push(index(graph, &points, step_ns, known));
    }
    // A reader who zooms while the file is still loading needs the coarser tiles first.
    rest.sort_by_key(|(level, _)| std::cmp::Reverse(*level));
    let View { title, notes, regressions, .. } = view;
    let index = Index { schema: SCHEMA, title, notes, regressions, ratio: grid.ratio, graphs };
    write!(
        file,
        "{}\
         <main id=\"layers\"><noscript><p>The graphs are drawn by a script in this file; please allow scripts.</p></noscript></main>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n",
        head(title, STYLE),
        data(&index)?,
    )?;
    texts(file, overview.iter())?;
    writeln!(file, "<script>{SCRIPT}</script>")?;
    texts(file, rest.iter().map(|(_, tile)| tile))?;
    file.write_all(b"</body>\n</html>\n")
}

/// Writes tiles as elements that the browser neither runs nor shows.
fn texts<'a>(file: &mut impl Write, tiles: impl Iterator<Item = &'a Tile>) -> io::Result<()> {
    for (number, text) in tiles {
        writeln!(file, "<script type=\"text/plain\" id=\"tile-{number}\">{text}</script>")?;
    }
    Ok(())
}

fn index<'a>(graph: &'a Graph, points: &Points, step_ns: i64, levels: Vec<LevelIndex>) -> GraphIndex<'a> {
    let Graph { label, layer, shape, offset, .. } = graph;
    let (layer, shape, offset) = (*layer, *shape, *offset);
    GraphIndex {
        label,
        layer,
        shape,
        offset,
        points: graph.points.len(),
        step_ns,
        unit: points.bytes(),
        levels,
    }
}

/// Returns the grid for all graphs together.
fn grid(view: &View) -> Grid {
    let points =
        || view.graphs.iter().flat_map(|graph| &graph.points).filter(|point| point.bytes.is_finite());
    let span = |of: fn(&Point) -> f64| {
        let (low, high) = points()
            .map(of)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        high - low
    };
    Grid::of(span(|point| point.time_ns as f64), span(|point| point.bytes))
}
