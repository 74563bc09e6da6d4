//! The page as one file: the built bundle of `web/` and the numbers as JSON. It needs no network,
//! and its content security policy allows none.

use crate::Page;
use capture::output;
use serde::Serialize;
use std::io;
use std::path::Path;

/// Built from `web/` by `npm run build`; `web/README.md` says how.
const SCRIPT: &str = include_str!("../assets/report.js");
const STYLE: &str = include_str!("../assets/report.css");
const LIVE_SCRIPT: &str = include_str!("../assets/live.js");
const LIVE_STYLE: &str = include_str!("../assets/live.css");

/// Content security policy: the browser may load only what is in the file.
const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

/// Returns the text of `report.html`.
pub fn file(page: &Page) -> serde_json::Result<String> {
    let data = data(page)?;
    Ok(format!(
        "{}\
         <main id=\"report\"><noscript><p>The figures of this report are drawn by a script in this file; \
         please allow scripts.</p></noscript></main>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{SCRIPT}</script>\n\
         </body>\n\
         </html>\n",
        head(page.title(), STYLE)
    ))
}

/// Returns the page of `lasthop serve`, which asks its own server for everything that it shows.
#[must_use]
pub fn live() -> String {
    format!(
        "{}<main id=\"live\"><noscript><p>This page is drawn by a script; please allow scripts.</p></noscript>\
         </main>\n<script>{LIVE_SCRIPT}</script>\n</body>\n</html>\n",
        head_with_policy("lasthop", LIVE_STYLE, &format!("{POLICY}; connect-src 'self'"))
    )
}

/// Returns a page up to the beginning of its body.
pub(crate) fn head(title: &str, style: &str) -> String {
    head_with_policy(title, style, POLICY)
}

fn head_with_policy(title: &str, style: &str, policy: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html>\n\
         <html lang=\"en\">\n\
         <head>\n\
         <meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n\
         <style>{style}</style>\n\
         </head>\n\
         <body>\n"
    )
}

/// Writes the page to `path`, completely or not at all.
pub fn write(page: &Page, path: &Path) -> io::Result<()> {
    output::write(path, file(page)?)
}

/// Returns the data as JSON without `<`, which occurs only in strings, and which could end the
/// element or open a comment in it.
pub(crate) fn data(page: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string(page)?.replace('<', "\\u003c"))
}

/// Escapes text for an element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
