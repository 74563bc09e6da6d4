//! What a client knows of its server: the file that `lasthop resoa pair` writes and `lasthop resoa agent --config` reads.
//!
//! ```toml
//! server = "udp:192.0.2.1:4000"      # or without the carrier, which is then udp:
//! server-key = "dyp61-B_y5vZTyi52gbHAeVJcSE6t_Ln7USRPmiYpRA"
//! key = "/home/user/laptop.key"       # or beside this file
//! ```

use crate::link_command::Failure;
use resoa_carrier::Place;
use resoa_carrier::keys::PublicKey;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A client's configuration; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientConfig {
    /// Where the server is.
    pub server: Place,
    /// What it is known by.
    pub server_key: PublicKey,
    /// File of the client's own secret key.
    pub key: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    server: String,
    server_key: String,
    key: PathBuf,
}

impl ClientConfig {
    /// Reads one. A relative path of the key is beside the file.
    ///
    /// # Errors
    /// If there is no such file, or something in it is not what it should be.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
        let written: Written = toml::from_str(&text).map_err(|error| wrong(&error))?;
        Ok(Self {
            server: written.server.parse().map_err(|error| wrong(&format!("server: {error}")))?,
            server_key: written.server_key.parse().map_err(|error| wrong(&format!("server-key: {error}")))?,
            key: path.parent().unwrap_or(Path::new("")).join(written.key),
        })
    }

    /// Its text.
    ///
    /// # Errors
    /// If the path of the key cannot be written down.
    pub fn text(&self) -> Result<String, Failure> {
        let Self { server, server_key, key } = self;
        let written =
            Written { server: server.to_string(), server_key: server_key.to_string(), key: key.clone() };
        Ok(toml::to_string(&written)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written is read, with the key beside it; what is wrong says which file and field.
    #[test]
    fn configurations_are_read_as_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("laptop.toml");
        let server_key = PublicKey([7; 32]);
        let server = "plain:192.0.2.1:4000".parse().expect("a place");
        let config = ClientConfig { server, server_key, key: "laptop.key".into() };
        std::fs::write(&path, config.text().expect("a text")).expect("written");
        let read = ClientConfig::read(&path).expect("the same");
        assert_eq!(read, ClientConfig { key: folder.path().join("laptop.key"), ..config });
        let short =
            format!("server = \"192.0.2.1:4000\"\nserver-key = \"{server_key}\"\nkey = \"laptop.key\"");
        std::fs::write(&path, short).expect("written");
        let read = ClientConfig::read(&path).expect("a place without a carrier");
        assert_eq!(read.server.to_string(), "udp:192.0.2.1:4000");
        std::fs::write(&path, "server = \"here\"\nserver-key = \"\"\nkey = \"\"").expect("written");
        let error = ClientConfig::read(&path).expect_err("no place").to_string();
        assert!(error.contains("laptop.toml: server: `here`"), "{error}");
    }
}
