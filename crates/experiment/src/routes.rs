//! Shortest paths: the link that each node takes towards each other node (LTCP's "as seen by node",
//! ltcp-newzag 1.6).

use std::collections::VecDeque;

/// A route: the link by which a node forwards packets for another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// The node that forwards.
    pub at: usize,
    /// The node that is the destination.
    pub to: usize,
    /// The link to take.
    pub by: usize,
}

/// Returns hops for all connected pairs of nodes, over as few links as possible.
///
/// Of equally short paths, it chooses the one whose first link comes first in `links`. A link
/// connects two nodes in both directions.
#[must_use]
pub fn shortest(nodes: usize, links: &[[usize; 2]]) -> Vec<Hop> {
    let mut hops = Vec::new();
    for to in 0..nodes {
        let distance = distances(nodes, links, to);
        for at in (0..nodes).filter(|&at| at != to) {
            let nearer = |&(_, &[a, b]): &(usize, &[usize; 2])| {
                let next = if a == at { Some(b) } else { (b == at).then_some(a) };
                next.is_some_and(|next| distance[next].is_some_and(|d| Some(d + 1) == distance[at]))
            };
            if let Some((by, _)) = links.iter().enumerate().find(nearer) {
                hops.push(Hop { at, to, by });
            }
        }
    }
    hops
}

/// Returns the number of links between each node and `to`; `None` if there is no path.
fn distances(nodes: usize, links: &[[usize; 2]], to: usize) -> Vec<Option<usize>> {
    let mut distance = vec![None; nodes];
    distance[to] = Some(0);
    let mut next = VecDeque::from([(to, 0)]);
    while let Some((node, so_far)) = next.pop_front() {
        for &[a, b] in links {
            let neighbours = [(a == node).then_some(b), (b == node).then_some(a)];
            for neighbour in neighbours.into_iter().flatten() {
                if distance[neighbour].is_none() {
                    distance[neighbour] = Some(so_far + 1);
                    next.push_back((neighbour, so_far + 1));
                }
            }
        }
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Walks from `at` to `to` and returns the number of links on the way.
    fn walk(hops: &[Hop], links: &[[usize; 2]], mut at: usize, to: usize) -> Option<usize> {
        for steps in 0..=links.len() {
            if at == to {
                return Some(steps);
            }
            let by = hops.iter().find(|hop| (hop.at, hop.to) == (at, to))?.by;
            at = if links[by][0] == at { links[by][1] } else { links[by][0] };
        }
        None
    }

    /// E3-12 (ltcp-newzag 1.14): hosts 1, 2, 3 at routers 4, 5, 6, which are fully meshed; shortest
    /// paths between all pairs.
    #[test]
    fn the_mesh_of_ltcp() {
        let links = [[0, 3], [2, 5], [1, 4], [3, 5], [5, 4], [4, 3]];
        let hops = shortest(6, &links);
        assert_eq!(hops.len(), 6 * 5);
        for (from, to, links_between) in [(0, 1, 3), (0, 2, 3), (1, 2, 3), (0, 3, 1), (3, 5, 1), (0, 5, 2)] {
            assert_eq!(walk(&hops, &links, from, to), Some(links_between), "{from} to {to}");
            assert_eq!(walk(&hops, &links, to, from), Some(links_between), "{to} to {from}");
        }
    }

    #[test]
    fn no_way_no_hop() {
        assert_eq!(shortest(3, &[[0, 1]]), [Hop { at: 1, to: 0, by: 0 }, Hop { at: 0, to: 1, by: 0 }]);
    }

    #[test]
    fn of_two_links_side_by_side_the_first() {
        assert!(shortest(2, &[[0, 1], [1, 0]]).iter().all(|hop| hop.by == 0));
    }

    proptest! {
        /// Every connected pair has a hop, over the shortest path, and no other pair has one.
        /// Shortest distances are those of Floyd and Warshall.
        #[test]
        fn all_paths_are_shortest(
            (nodes, links) in (1..7_usize).prop_flat_map(|nodes| {
                (Just(nodes), prop::collection::vec([0..nodes, 0..nodes], 0..10))
            }),
        ) {
            let links: Vec<_> = links.into_iter().filter(|[a, b]| a != b).collect();
            let mut distance = vec![vec![None; nodes]; nodes];
            for &[a, b] in &links {
                (distance[a][b], distance[b][a]) = (Some(1), Some(1));
            }
            for by in 0..nodes {
                let known: Vec<Vec<Option<usize>>> = distance.clone();
                for (from, row) in distance.iter_mut().enumerate() {
                    for (to, cell) in row.iter_mut().enumerate() {
                        let around = known[from][by].zip(known[by][to]).map(|(one, other)| one + other);
                        *cell = [*cell, around].into_iter().flatten().min();
                    }
                }
            }
            let hops = shortest(nodes, &links);
            for (from, row) in distance.iter().enumerate() {
                for (to, shortest) in row.iter().enumerate().filter(|&(to, _)| to != from) {
                    prop_assert_eq!(walk(&hops, &links, from, to), *shortest, "{} to {}", from, to);
                    let its = hops.iter().filter(|hop| (hop.at, hop.to) == (from, to)).count();
                    prop_assert_eq!(its, usize::from(shortest.is_some()));
                }
            }
        }
    }
}
