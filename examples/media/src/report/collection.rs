//! What was received, judged: `received/MEDIUM/LOSS/LITE/SEED/` with `media` and `account.json` in
//! it.

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
    /// What was run.
    pub plan: Plan,
    /// A run for each medium, loss, off and on, and seed, in this order.
    pub runs: Vec<Run>,
    /// PSNR and SSIM of the picture as it was sent against how it was drawn: the best that can
    /// come.
    pub sent_picture: (f64, f64),
    /// The files as they were sent.
    pub sent: [Vec<u8>; 2],
}

/// One transfer.
#[derive(Debug, Clone)]
pub struct Run {
    /// What was sent.
    pub sent: Sent,
    /// Place of its loss in the plan.
    pub loss: usize,
    /// Whether damage was asked for.
    pub lite: bool,
    /// Its seed.
    pub seed: u64,
    /// What came; nothing if the transfer did not end.
    pub outcome: Option<Outcome>,
}

/// What came.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What the receiver said.
    pub account: Account,
    /// PSNR of a picture, SNR of sound, in dB.
    pub decibels: f64,
    /// SSIM of a picture.
    pub ssim: Option<f64>,
    /// The file.
    pub media: Vec<u8>,
    /// The picture that is in it.
    pub picture: Option<Pixels>,
}

impl Outcome {
    /// Time to the last byte.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.account.nanoseconds as f64 / 1e9
    }
}

impl Collection {
    /// Reads and judges everything. A run whose account is missing did not end.
    ///
    /// # Errors
    /// With the file's name, if one cannot be read or is not what it should be.
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

    /// Transfers without Lite that are not what was sent: damage that TCP's checksum did not see.
    #[must_use]
    pub fn hidden_damage(&self, sent: Sent) -> usize {
        let off = self.runs.iter().filter(|run| run.sent == sent && !run.lite);
        off.filter(|run| run.outcome.as_ref().is_some_and(|came| came.media != self.sent[sent as usize]))
            .count()
    }

    /// The runs of one cell, in the order of their seeds.
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
    // The receiver says nothing if it fails.
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
