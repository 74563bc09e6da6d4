//! Effects of keys: a changed view, or requests to the link.

use super::view::{Input, Shown, View};
use crate::remote::{Request, Status};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Factor of a change of the rate.
const STEP: f64 = 1.25;
/// Change of the delay, in nanoseconds.
const DELAY_STEP: u64 = 10_000_000;

/// The effect of a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Draw the changed view.
    Nothing,
    /// End the program.
    Quit,
    /// Ask the link.
    Ask(Vec<Request>),
}

/// Handles a key.
pub fn press(view: &mut View, status: &Status, key: KeyEvent) -> Action {
    if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
        return Action::Quit;
    }
    if let Some(input) = view.input.take() {
        return write(view, input, key);
    }
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return Action::Quit,
        KeyCode::Tab | KeyCode::Right => view.chosen = view.chosen.next(),
        KeyCode::BackTab | KeyCode::Left => view.chosen = view.chosen.next().next(),
        KeyCode::Char('v') => view.shown = view.shown.other(),
        KeyCode::Char(':') => view.input = Some(Input::Parameters(String::new())),
        KeyCode::Char('p') => view.input = Some(Input::profile()),
        KeyCode::Char('c') => {
            let file = status.capture.is_none().then(|| view.capture_file(&status.link.id));
            return Action::Ask(vec![Request::Capture { file }]);
        }
        KeyCode::Char('o') => return set(view, "outage=now+1s"),
        KeyCode::Char('O') => return set(view, "outage=now+5s"),
        KeyCode::Char('+' | '=') => return rate(view, status, STEP),
        KeyCode::Char('-') => return rate(view, status, 1.0 / STEP),
        KeyCode::Char('>') => return delay(view, status, |delay| delay + DELAY_STEP),
        KeyCode::Char('<') => return delay(view, status, |delay| delay.saturating_sub(DELAY_STEP)),
        _ => {}
    }
    Action::Nothing
}

/// Handles a key while something is written or chosen.
fn write(view: &mut View, mut input: Input, key: KeyEvent) -> Action {
    match key.code {
        KeyCode::Esc => return Action::Nothing,
        KeyCode::Enter => {
            return match input {
                Input::Parameters(text) if text.trim().is_empty() => Action::Nothing,
                Input::Parameters(text) => set(view, text.trim()),
                Input::Profile { names, chosen, .. } => set(view, &format!("profile={}", names[chosen].0)),
            };
        }
        code => input.press(code),
    }
    view.input = Some(input);
    Action::Nothing
}

fn set(view: &View, parameters: &str) -> Action {
    let direction = view.chosen.name().to_owned();
    Action::Ask(vec![Request::Set { direction, parameters: parameters.to_owned() }])
}

/// Multiplies the rate of each chosen direction that has a constant one.
fn rate(view: &mut View, status: &Status, factor: f64) -> Action {
    let rates = view.chosen.ways(status).filter_map(|(name, way)| Some((name, way.rate?)));
    let requests: Vec<_> = rates
        .map(|(name, rate)| Request::Set {
            direction: name.to_owned(),
            parameters: format!("rate={}bit", ((rate as f64 * factor).round() as u64).max(1)),
        })
        .collect();
    if requests.is_empty() {
        view.message = Some("this direction has no constant rate: set one with :rate=2mbit".to_owned());
        return Action::Nothing;
    }
    Action::Ask(requests)
}

fn delay(view: &View, status: &Status, change: impl Fn(u64) -> u64) -> Action {
    let one = |(name, way): (&str, &crate::remote::WayStatus)| Request::Set {
        direction: name.to_owned(),
        parameters: format!("delay={}us", change(way.delay_ns) / 1000),
    };
    Action::Ask(view.chosen.ways(status).map(one).collect())
}

impl Shown {
    fn other(self) -> Self {
        match self {
            Self::Flows => Self::Devices,
            Self::Devices => Self::Flows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::watch::example;
    use std::path::PathBuf;

    fn press_all(view: &mut View, text: &str) -> Vec<Action> {
        let status = example::status(0);
        let code = |letter| match letter {
            '\n' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            letter => KeyCode::Char(letter),
        };
        let pressed = text.chars().map(|letter| press(view, &status, KeyEvent::from(code(letter))));
        pressed.filter(|action| *action != Action::Nothing).collect()
    }

    fn set(direction: &str, parameters: &str) -> Request {
        Request::Set { direction: direction.to_owned(), parameters: parameters.to_owned() }
    }

    #[test]
    fn keys_change_the_chosen_direction() {
        let mut view = View::default();
        assert_eq!(press_all(&mut view, "o"), [Action::Ask(vec![set("both", "outage=now+1s")])]);
        // The uplink of the example has no rate.
        assert_eq!(press_all(&mut view, "+"), [Action::Ask(vec![set("down", "rate=2500000bit")])]);
        assert_eq!(press_all(&mut view, "\t-"), []);
        assert_eq!(
            view.message.as_deref(),
            Some("this direction has no constant rate: set one with :rate=2mbit")
        );
        assert_eq!(press_all(&mut view, "\t>"), [Action::Ask(vec![set("down", "delay=40000us")])]);
        assert_eq!(press_all(&mut view, ":loss=1%\n"), [Action::Ask(vec![set("down", "loss=1%")])]);
        let file = Some(PathBuf::from("/home/u/link-1.pcapng"));
        view.folder = PathBuf::from("/home/u");
        assert_eq!(press_all(&mut view, "c"), [Action::Ask(vec![Request::Capture { file }])]);
        assert_eq!(press_all(&mut view, "q"), [Action::Quit]);
    }

    /// Letters that are commands elsewhere are letters while something is written.
    #[test]
    fn what_is_written_is_no_command() {
        let mut view = View::default();
        assert_eq!(press_all(&mut view, ":qo"), []);
        assert!(matches!(&view.input, Some(Input::Parameters(text)) if text == "qo"));
        let status = example::status(0);
        assert_eq!(press(&mut view, &status, KeyEvent::from(KeyCode::Esc)), Action::Nothing);
        assert!(view.input.is_none());
    }

    #[test]
    fn a_profile_is_chosen_by_its_first_letters() {
        let mut view = View::default();
        assert_eq!(press_all(&mut view, "plte\n"), [Action::Ask(vec![set("both", "profile=lte")])]);
    }
}
