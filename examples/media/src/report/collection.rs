//! The received files with their quality, from `received/MEDIUM/LOSS/LITE/SEED/`, which holds
//! `media` and `account.json`.

use super::{Plan, Sent};
use crate::lenient;
use crate::medium::wav;
use crate::pixels::Pixels;
use crate::quality::{psnr, snr, ssim};
use crate::receive::Account;
use crate::{test_picture, test_sound};
use std::error::Error;
use std::fs;
use std::path::Path;

/// All runs of a plan.
#[derive(Debug, Clone)]
pub struct Collection {
    /// The plan of the runs.
    pub plan: Plan,
    /// One run for each medium, loss, Lite off and on, and seed, in this order.
    pub runs: Vec<Run>,
    /// PSNR and SSIM of the sent picture, compared with the drawing: the best possible values.
    pub sent_picture: (f64, f64),
    /// The files as sent.
    pub sent: [Vec<u8>; 2],
}

/// One transfer.
#[derive(Debug, Clone)]
pub struct Run {
    /// What was sent.
    pub sent: Sent,
    /// Index of its loss in the plan.
    pub loss: usize,
    /// Whether damage was accepted.
    pub lite: bool,
    /// Its seed.
    pub seed: u64,
    /// The result; `None` if the transfer did not end.
    pub outcome: Option<Outcome>,
}

/// Result of a transfer.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The receiver's account.
    pub account: Account,
    /// PSNR of a picture or SNR of sound, in dB.
    pub decibels: f64,
    /// SSIM of a picture; `None` for sound.
    pub ssim: Option<f64>,
    /// The received file.
    pub media: Vec<u8>,
    /// The decoded picture; `None` for sound.
    pub picture: Option<Pixels>,
}

impl Outcome {
    /// Returns the time to the last byte, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.account.nanoseconds as f64 / 1e9
    }
}

impl Collection {
    /// Reads all runs and measures their quality. A run without an account did not end.
    ///
    /// # Errors
    /// If a file cannot be read or is invalid; the error names it.
    pub fn read(folder: &Path, plan: Plan) -> Result<Self, Box<dyn Error>> {
        let drawn = test_picture::draw();
        let samples = test_sound::samples();
        let sent = [test_picture::jpeg(&drawn)?, test_sound::wav(&samples)];
        let shown = lenient::decode(&sent[0])?.pixels;
        let sent_picture = (psnr(&drawn, &shown)?, ssim(&drawn, &shown)?);
        let mut runs = Vec::new();
        for medium in Sent::ALL {
            for (loss, settings) in plan.losses.iter().enumerate() {
                for lite in [false, true] {
                    for &seed in &plan.seeds {
                        let switch = if lite { "on" } else { "off" };
                        let place = folder
                            .join("received")
                            .join(medium.name())
                            .join(&settings.name)
                            .join(switch)
                            .join(seed.to_string());
                        let outcome = outcome(&place, medium, &drawn, &samples)
                            .map_err(|error| format!("{}: {error}", place.display()))?;
                        runs.push(Run { sent: medium, loss, lite, seed, outcome });
                    }
                }
            }
        }
        Ok(Self { plan, runs, sent_picture, sent })
    }

    /// Counts transfers without Lite that differ from what was sent: damage that TCP's checksum
    /// missed.
    #[must_use]
    pub fn hidden_damage(&self, sent: Sent) -> usize {
        let off = self.runs.iter().filter(|run| run.sent == sent && !run.lite);
        off.filter(|run| run.outcome.as_ref().is_some_and(|came| came.media != self.sent[sent as usize]))
            .count()
    }

    /// Returns the runs of one cell, in the order of their seeds.
    pub fn cell(&self, sent: Sent, loss: usize, lite: bool) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.sent == sent && run.loss == loss && run.lite == lite)
    }
}

fn outcome(
    place: &Path,
    sent: Sent,
    drawn: &Pixels,
    samples: &[i16],
) -> Result<Option<Outcome>, Box<dyn Error>> {
    let account = fs::read(place.join("account.json")).unwrap_or_default();
    // The receiver prints nothing if it fails.
    if account.is_empty() {
        return Ok(None);
    }
    let account: Account = serde_json::from_slice(&account)?;
    let media = fs::read(place.join("media"))?;
    Ok(Some(match sent {
        Sent::Picture => {
            let pixels = lenient::decode(&media)?.pixels;
            let (decibels, similarity) = (psnr(drawn, &pixels)?, ssim(drawn, &pixels)?);
            Outcome { account, decibels, ssim: Some(similarity), media, picture: Some(pixels) }
        }
        Sent::Sound => {
            let data = wav::data(&media)?.ok_or("no samples")?;
            let decibels = snr(samples, &test_sound::samples_of(&media, data))?;
            Outcome { account, decibels, ssim: None, media, picture: None }
        }
    }))
}
