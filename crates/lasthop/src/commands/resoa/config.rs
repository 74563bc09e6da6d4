//! Configuration of a client: the file that `lasthop resoa pair` writes and
//! `lasthop resoa agent --config` reads.
//!
//! ```toml
//! server = "udp:192.0.2.1:4000"      # or without the carrier, which is then udp:
//! server-key = "dyp61-B_y5vZTyi52gbHAeVJcSE6t_Ln7USRPmiYpRA"
//! key = "/home/user/laptop.key"       # or beside this file
//!
//! [local]                             # what this host reaches by its own stack; with no rule, nothing
//! destinations = ["127.0.0.0/8", "::1", "192.168.1.0/24 22,80"]      # NETWORK [PORTS]
//! names = ["nas", "home.arpa"]        # hosts and domains that it looks up itself
//! ```

use crate::failure::Failure;
use resoa_agent::LocalRules;
use resoa_carrier::CarrierAddress;
use resoa_carrier::keys::PublicKey;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A client's configuration; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientConfig {
    /// Address of the server.
    pub server: CarrierAddress,
    /// Public key of the server.
    pub server_key: PublicKey,
    /// Path of the client's secret key.
    pub key: PathBuf,
    /// Destinations that the client's host reaches directly.
    pub local: Local,
}

/// Table `local` of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Local {
    #[serde(default)]
    destinations: Vec<String>,
    #[serde(default)]
    names: Vec<String>,
}

impl Local {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the rules that the table describes.
    ///
    /// # Errors
    /// If a destination is invalid.
    pub fn rules(&self) -> Result<LocalRules, Failure> {
        let destination = |text: &String| {
            text.parse().map_err(|error| Failure::from(format!("local.destinations: {error}")))
        };
        let destinations = self.destinations.iter().map(destination).collect::<Result<_, _>>()?;
        Ok(LocalRules { destinations, names: self.names.clone() })
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    server: String,
    server_key: String,
    key: PathBuf,
    #[serde(default, skip_serializing_if = "Local::is_empty")]
    local: Local,
}

impl ClientConfig {
    /// Reads a configuration. A relative path of the key is relative to the file's directory.
    ///
    /// # Errors
    /// If the file cannot be read, or a field in it is invalid.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
        let written: Written = toml::from_str(&text).map_err(|error| wrong(&error))?;
        written.local.rules().map_err(|error| wrong(&error))?;
        Ok(Self {
            server: written.server.parse().map_err(|error| wrong(&format!("server: {error}")))?,
            server_key: written.server_key.parse().map_err(|error| wrong(&format!("server-key: {error}")))?,
            key: path.parent().unwrap_or(Path::new("")).join(written.key),
            local: written.local,
        })
    }

    /// Returns the configuration as text.
    ///
    /// # Errors
    /// If the path of the key cannot be represented in TOML.
    pub fn text(&self) -> Result<String, Failure> {
        let Self { server, server_key, key, local } = self.clone();
        let (server, server_key) = (server.to_string(), server_key.to_string());
        let written = Written { server, server_key, key, local };
        Ok(toml::to_string(&written)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A written configuration is read back, with the key beside it; errors name the file and the
    /// field.
    #[test]
    fn configurations_are_read_as_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("laptop.toml");
        let server_key = PublicKey([7; 32]);
        let server = "plain:192.0.2.1:4000".parse().expect("a place");
        let local = Local { destinations: vec!["::1 22".into()], names: vec!["nas".into()] };
        let config = ClientConfig { server, server_key, key: "laptop.key".into(), local };
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
        let text = ClientConfig { local: Local::default(), ..read }.text().expect("a text");
        assert!(!text.contains("local"), "{text}");
        std::fs::write(&path, text + "[local]\ndestinations = [\"nas\"]").expect("written");
        let error = ClientConfig::read(&path).expect_err("no network").to_string();
        assert!(error.contains("laptop.toml: local.destinations: `nas` is not a network"), "{error}");
    }
}
