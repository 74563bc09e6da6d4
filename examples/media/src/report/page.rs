//! The page: figures, table, pictures and sound in one file that needs neither network nor scripts.
//! It looks like the report of a campaign.

use super::statistics::median;
use super::{Collection, Outcome, Run, Sent, chart, table};
use crate::pixels::Pixels;
use crate::test_picture;
use data_encoding::BASE64;
use std::error::Error;
use std::fmt::Write as _;

/// The style of all reports.
const STYLE: &str = include_str!("../../../../web/src/style.css");
/// Additional style of this page.
const MORE: &str = "
header code { white-space: nowrap; }
.wide { overflow-x: auto; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; }
.pair figure { margin: 0.2rem 0 0.8rem; }
.pair img { display: block; width: 100%; height: auto; }
.pair audio { width: 100%; }
.scroll { max-height: none; }
th, td { padding: 0.25rem 0.45rem; }
td:nth-child(2) { white-space: nowrap; }
";

/// The browser may load only what is in the file.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:";

/// Returns the HTML of the page.
///
/// # Errors
/// If a picture cannot be encoded.
pub fn html(collection: &Collection) -> Result<String, Box<dyn Error>> {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>A picture and a sound over TCP Lite</title>\n<style>{STYLE}{MORE}</style>\n</head>\n<body>\n<main>\n"
    );
    out.push_str(&opening(collection));
    for sent in Sent::ALL {
        let _ = write!(
            out,
            "<h2>{}</h2>\n<figure><div class=\"wide\">{}</div><figcaption>{}</figcaption></figure>\n",
            match sent {
                Sent::Picture => "The picture: time against quality",
                Sent::Sound => "The sound: time against quality",
            },
            chart::svg(collection, sent),
            caption(collection, sent)
        );
    }
    let _ = write!(
        out,
        "<h2>Numbers</h2>\n<p>Medians of {} transfers, with the lowest and highest values. Quality is PSNR of the picture, SNR of the sound.</p>\n{}\n",
        collection.plan.seeds.len(),
        table::html(collection)
    );
    pictures(&mut out, collection)?;
    sound(&mut out, collection);
    out.push_str(&closing(collection));
    out.push_str("</main>\n</body>\n</html>\n");
    Ok(out)
}

fn opening(collection: &Collection) -> String {
    let [picture, sound] = [&collection.sent[0], &collection.sent[1]].map(|file| (file.len() + 500) / 1000);
    format!(
        "<header><h1>A picture and a sound over TCP Lite</h1>\n\
         <p>A JPEG picture of {picture} kB and 10 s of PCM sound of {sound} kB cross an emulated radio link (<code>{}</code>) that damages bits. \
         Without TCP Lite, a damaged segment is dropped and sent again, and the sender takes it for congestion. With TCP Lite, the receiver accepts \
         it: the headers of HTTP, JPEG and WAV arrive intact, and the data after them may be damaged.</p></header>\n",
        escaped(&collection.plan.link)
    )
}

fn caption(collection: &Collection, sent: Sent) -> String {
    let count = collection.hidden_damage(sent);
    let hidden = match count {
        0 => String::new(),
        _ => format!(
            " {count} transfer{} without Lite arrived with wrong bits nevertheless: TCP's checksum of 16 bits does not detect every pair of them.",
            if count == 1 { "" } else { "s" }
        ),
    };
    match sent {
        Sent::Picture => format!(
            "Each dot is a transfer; off and on use the same link with the same seeds. Quality is relative to the picture before encoding: the dashed line \
             is the picture as sent.{hidden}"
        ),
        Sent::Sound => format!("Each dot is a transfer. ∞: no sample is wrong.{hidden}"),
    }
}

/// Returns the transfer with Lite that has the median quality, and the one without Lite that has
/// the same seed.
fn typical(collection: &Collection, sent: Sent, loss: usize) -> Option<[&Run; 2]> {
    let mut came: Vec<&Run> = collection.cell(sent, loss, true).filter(|run| run.outcome.is_some()).collect();
    came.sort_by(|a, b| decibels(a).total_cmp(&decibels(b)));
    let on = *came.get(came.len().checked_sub(1)? / 2)?;
    let off = collection.cell(sent, loss, false).find(|run| run.seed == on.seed)?;
    Some([off, on])
}

fn decibels(run: &Run) -> f64 {
    run.outcome.as_ref().map_or(f64::NAN, |outcome| outcome.decibels)
}

fn pictures(out: &mut String, collection: &Collection) -> Result<(), Box<dyn Error>> {
    out.push_str(
        "<h2>The picture as received</h2>\n<p>For each kind of damage, the seed whose quality with Lite is the median. Damage ends at the next \
         restart marker; a row of blocks has eight of them. Where nothing could be decoded, the row above is repeated.</p>\n",
    );
    for (loss, settings) in collection.plan.losses.iter().enumerate() {
        let Some(pair) = typical(collection, Sent::Picture, loss) else { continue };
        let _ = write!(out, "<h3>{}</h3>\n<div class=\"pair\">", escaped(&settings.title));
        for run in pair {
            let words = words(run);
            match run.outcome.as_ref().and_then(|outcome| outcome.picture.as_ref()) {
                Some(pixels) => {
                    let jpeg = BASE64.encode(&test_picture::jpeg_to_show(pixels)?);
                    let (width, height) = (pixels.width, pixels.height);
                    let _ = write!(
                        out,
                        "<figure><img width=\"{width}\" height=\"{height}\" alt=\"The picture as received, {words}\" \
                         src=\"data:image/jpeg;base64,{jpeg}\"><figcaption>{words}</figcaption></figure>"
                    );
                }
                None => {
                    let _ = write!(out, "<figure><figcaption>{words}</figcaption></figure>");
                }
            }
        }
        out.push_str("</div>\n");
    }
    Ok(())
}

/// Returns for example `Lite on, seed 3: 3.5 s, PSNR 24.1 dB, SSIM 0.910`.
fn words(run: &Run) -> String {
    let lite = if run.lite { "on" } else { "off" };
    let Some(outcome) = &run.outcome else { return format!("Lite {lite}, seed {}: did not end", run.seed) };
    let measure = if run.sent == Sent::Picture { "PSNR" } else { "SNR" };
    let quality = match outcome.decibels {
        decibels if decibels.is_infinite() => "no wrong bit".to_owned(),
        decibels => format!("{measure} {decibels:.1} dB"),
    };
    let ssim = outcome.ssim.map(|ssim| format!(", SSIM {ssim:.3}")).unwrap_or_default();
    format!("Lite {lite}, seed {}: {:.1} s, {quality}{ssim}", run.seed, outcome.seconds())
}

/// Adds one example: the first kind of damage that is audible in half of the transfers.
fn sound(out: &mut String, collection: &Collection) {
    let heard = (0..collection.plan.losses.len()).find(|loss| {
        let came = collection.cell(Sent::Sound, *loss, true).filter_map(|run| run.outcome.as_ref());
        median(came.map(|outcome| outcome.decibels)).is_some_and(|decibels| decibels < AUDIBLE)
    });
    let Some((loss, pair)) = heard.and_then(|loss| Some((loss, typical(collection, Sent::Sound, loss)?)))
    else {
        return;
    };
    let _ = write!(
        out,
        "<h2>The sound as received</h2>\n<p>{}; mind the volume, a wrong high bit is a loud click.</p>\n<div class=\"pair\">",
        escaped(&collection.plan.losses[loss].title)
    );
    for run in pair {
        let words = words(run);
        let _ = write!(out, "<figure>");
        if let Some(Outcome { media, .. }) = &run.outcome {
            let _ = write!(
                out,
                "<audio controls preload=\"none\" src=\"data:audio/wav;base64,{}\"></audio>",
                BASE64.encode(media)
            );
        }
        let _ = write!(out, "<figcaption>{words}</figcaption></figure>");
    }
    out.push_str("</div>\n");
}

/// Noise at this SNR in dB is audible behind tones.
const AUDIBLE: f64 = 50.0;

fn closing(collection: &Collection) -> String {
    let mut losses = String::new();
    for loss in &collection.plan.losses {
        let _ = write!(
            losses,
            "<dt>{}</dt><dd><code>{}</code></dd>",
            escaped(&loss.title),
            escaped(&loss.options)
        );
    }
    let (best, similarity) = collection.sent_picture;
    format!(
        "<h2>How it was made</h2>\n<p>Each transfer is one run of its own kernel on the virtual clock: the same seed gives the same bytes again. \
         DAMAGE is one of these. A wrong bit is as likely in a header as anywhere else:</p>\n<dl class=\"facts\">{losses}</dl>\n\
         <pre>lasthop link --clock virtual {} DAMAGE --seed 1 \\\n    --serve 'python3 -m http.server 80' --keep DIR -- \\\n    \
         lasthop tcp-lite run --on-request -- sh -c \\\n    'lite-receive http://host.lasthop/picture.jpg --out $LASTHOP_KEEP/picture.jpg --json'</pre>\n\
         <p>Time runs from before the connection is opened until the last byte was read. PSNR is over all three colours, SSIM (Wang and others, 2004) over \
         brightness; the picture as sent has {best:.1} dB and {similarity:.3}.</p>\n",
        escaped(&collection.plan.link),
    )
}

/// Name and content of a file.
pub type File = (String, Vec<u8>);

/// Returns the figures, the table, and the pictures with visible damage as separate files.
///
/// # Errors
/// If a picture cannot be encoded.
pub fn files(collection: &Collection) -> Result<Vec<File>, Box<dyn Error>> {
    let mut files: Vec<File> = Sent::ALL
        .into_iter()
        .map(|sent| (format!("{}.svg", sent.name()), chart::file(collection, sent).into_bytes()))
        .collect();
    files.push(("table.md".to_owned(), table::markdown(collection).into_bytes()));
    for (loss, settings) in collection.plan.losses.iter().enumerate() {
        let Some([_, on]) = typical(collection, Sent::Picture, loss) else { continue };
        // A picture without visible damage shows nothing.
        if decibels(on) > collection.sent_picture.0 - VISIBLE {
            continue;
        }
        let Some(picture) = on.outcome.as_ref().and_then(|outcome| outcome.picture.as_ref()) else {
            continue;
        };
        files.push((format!("picture-{}.jpg", settings.name), test_picture::jpeg_to_show(&halved(picture))?));
    }
    Ok(files)
}

/// A loss of quality below this, in dB, is hardly visible.
const VISIBLE: f64 = 1.0;

/// Returns the picture at half its width and height: means of four pixels each.
fn halved(picture: &Pixels) -> Pixels {
    let mut half = Pixels::filled(picture.width / 2, picture.height / 2, [0; 3]);
    for y in 0..half.height {
        for x in 0..half.width {
            let four = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dx, dy)| picture.at(2 * x + dx, 2 * y + dy));
            let mean =
                |part: usize| (four.iter().map(|colour| u32::from(colour[part])).sum::<u32>() / 4) as u8;
            half.set(x, y, [mean(0), mean(1), mean(2)]);
        }
    }
    half
}

/// Escapes text for HTML and SVG.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
