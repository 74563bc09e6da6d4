//! The running links, as the HTTP interface sees them.

use crate::commands::link::running;
use crate::failure::Failure;
use crate::remote::{self, Answer, Request};

/// Running links. A test has others than those of this machine.
pub trait Links: Send + Sync {
    /// Returns the descriptions of all links.
    ///
    /// # Errors
    /// If the directory of links cannot be read.
    fn list(&self) -> Result<Vec<remote::Running>, Failure>;

    /// Sends a request to a link.
    ///
    /// # Errors
    /// If no link with this id runs, or if it does not answer.
    fn ask(&self, id: &str, request: &Request) -> Result<Answer, Failure>;
}

/// The links of this host.
pub struct HostLinks;

impl Links for HostLinks {
    fn list(&self) -> Result<Vec<remote::Running>, Failure> {
        running::running()
    }

    fn ask(&self, id: &str, request: &Request) -> Result<Answer, Failure> {
        running::ask(id, request)
    }
}
