//! The TLS session, which authenticates nobody, and the settings of QUIC.
//!
//! A server signs with a key that is made for this run, sends its public key raw (RFC 7250), and
//! nobody verifies it. So the session alone only protects against passive listeners. Authentication
//! of the ends follows inside it ([`introduction`](super::introduction)).

use crate::keys::SecretKey;
use crate::tcp::KeepAlive;
use quinn_proto::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::crypto::{CryptoError, HmacKey};
use quinn_proto::{
    ClientConfig, Connection, EndpointConfig, IdleTimeout, RandomConnectionIdGenerator, ServerConfig,
    TransportConfig, VarInt,
};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::crypto::ring::sign::any_eddsa_type;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, SignatureScheme, version};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Protocol and version, so that ends with others detect this at once.
const PROTOCOL: &[u8] = b"lasthop-resoa-2";
/// Label of the exported bytes that only both ends of a session can compute (RFC 9266).
const BINDING: &[u8] = b"EXPORTER-Channel-Binding";
/// Prefix of an Ed25519 secret key in PKCS #8 (RFC 8410, 7).
const ED25519: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
/// Bytes of a server's connection IDs, which are entirely random. quinn's default IDs are as long,
/// but there are only 2^24 of them, so somebody could collect their tokens; and another process
/// does not recognise them.
const NAME: usize = 8;
/// Shortest time between two resets that a server sends for unknown connections.
const RESETS: Duration = Duration::from_millis(1);
/// Context string of the key of these tokens (BLAKE3's key derivation).
const CONTEXT: &str = "lasthop resoa 2026-11-23 tokens of stateless resets of QUIC";
/// Bytes that a stranger may have in flight.
const STRANGERS_WINDOW: u32 = 16 << 10;

/// Congestion control of QUIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Congestion {
    /// By rate and round-trip time, like Linux's BBR before version 2. Losses by damage hardly slow
    /// it.
    #[default]
    Bbr,
    /// CUBIC, RFC 9438.
    Cubic,
    /// NewReno, RFC 9002, 7.
    NewReno,
}

/// Returns the channel binding of a TLS session: bytes that only its two ends can compute.
pub(super) fn binding(connection: &Connection) -> [u8; 32] {
    let mut octets = [0; 32];
    let exported = connection.crypto_session().export_keying_material(&mut octets, BINDING, &[]);
    // It fails only for a length that no hash function has.
    debug_assert!(exported.is_ok());
    octets
}

/// Returns the settings of both ends. Before the introduction, only a client may open a stream, and
/// only one.
fn transport(
    keep_alive: KeepAlive,
    congestion: Congestion,
    streams: u64,
) -> io::Result<Arc<TransportConfig>> {
    let KeepAlive { interval, questions } = keep_alive;
    let mut config = TransportConfig::default();
    let silence = IdleTimeout::try_from(interval * questions).map_err(io::Error::other)?;
    config
        .max_idle_timeout(Some(silence))
        .keep_alive_interval(Some(interval))
        .max_concurrent_bidi_streams(VarInt::from_u32(streams as u32))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .stream_receive_window(VarInt::from_u32(super::ROOM as u32 * 2))
        .receive_window(VarInt::from_u32(STRANGERS_WINDOW))
        .send_window(super::ROOM)
        .datagram_receive_buffer_size(None);
    match congestion {
        Congestion::Bbr => config.congestion_controller_factory(Arc::new(BbrConfig::default())),
        Congestion::Cubic => config.congestion_controller_factory(Arc::new(CubicConfig::default())),
        Congestion::NewReno => config.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
    };
    Ok(Arc::new(config))
}

/// Allows the lanes and the full window, once both ends are authenticated.
pub(super) fn open(connection: &mut Connection) {
    connection.set_max_concurrent_streams(quinn_proto::Dir::Uni, VarInt::from_u32(super::LANES as u32));
    // Our own limit bounds what is received, so this one must never be the bottleneck.
    connection.set_receive_window(VarInt::from_u32(super::ROOM as u32 * 2));
}

/// Returns a server's configuration.
pub(super) fn server(keep_alive: KeepAlive, congestion: Congestion) -> io::Result<Arc<ServerConfig>> {
    let secret = SecretKey::generate()?;
    let pkcs8 = zeroize::Zeroizing::new([&ED25519[..], secret.octets()].concat());
    let key = any_eddsa_type(&PrivatePkcs8KeyDer::from(&pkcs8[..])).map_err(io::Error::other)?;
    let public = key.public_key().ok_or(io::ErrorKind::Unsupported)?;
    let key = CertifiedKey::new(vec![CertificateDer::from(public.to_vec())], key);
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&version::TLS13])
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::new(key))));
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    // Sessions are never resumed.
    tls.send_tls13_tickets = 0;
    let crypto = QuicServerConfig::try_from(tls).map_err(io::Error::other)?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(transport(keep_alive, congestion, 1)?);
    Ok(Arc::new(config))
}

/// Returns a client's configuration.
pub(super) fn client(keep_alive: KeepAlive, congestion: Congestion) -> io::Result<ClientConfig> {
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&version::TLS13])
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody))
        .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    tls.enable_sni = false;
    tls.resumption = rustls::client::Resumption::disabled();
    let crypto = QuicClientConfig::try_from(tls).map_err(io::Error::other)?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport(keep_alive, congestion, 0)?);
    Ok(config)
}

/// Returns the configuration of a client's endpoint.
pub(super) fn endpoint() -> Arc<EndpointConfig> {
    Arc::new(EndpointConfig::default())
}

/// Returns the configuration of a server's endpoint. Another process with the same key resets the
/// connections that a killed one leaves behind (RFC 9000, 10.3).
pub(super) fn endpoint_of(key: &SecretKey) -> Arc<EndpointConfig> {
    let mut config = EndpointConfig::new(Arc::new(ResetKey(blake3::derive_key(CONTEXT, key.octets()))));
    config.cid_generator(|| Box::new(RandomConnectionIdGenerator::new(NAME))).min_reset_interval(RESETS);
    Arc::new(config)
}

/// Key of the reset tokens.
struct ResetKey([u8; 32]);

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature: &mut [u8]) {
        signature.copy_from_slice(&blake3::keyed_hash(&self.0, data).as_bytes()[..signature.len()]);
    }

    fn signature_len(&self) -> usize {
        blake3::OUT_LEN
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        // The comparison takes constant time.
        let found = <[u8; blake3::OUT_LEN]>::try_from(signature).map_err(|_| CryptoError)?;
        if blake3::keyed_hash(&self.0, data) == found { Ok(()) } else { Err(CryptoError) }
    }
}

/// Accepts any server certificate, because authentication follows later.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("only TLS 1.3 is supported".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
