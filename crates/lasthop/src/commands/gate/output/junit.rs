//! The verdicts as JUnit XML, which CI systems show as tests.

use super::Report;
use crate::commands::gate::line::Subject;
use crate::failure::Failure;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use results::requirement::Verdict;
use std::time::Duration;

/// Returns the document: one test suite, and a test for each line.
///
/// A verdict that is not decided is an error of the test, not a failure of the tested program.
pub fn document(report: &Report<'_>) -> Result<String, Failure> {
    let manifest = &report.directory.manifest;
    let mut suite = TestSuite::new(manifest.plan.name.clone());
    let wall: f64 = manifest.runs.iter().map(|run| run.wall_seconds).sum();
    suite.set_time(Duration::from_secs_f64(wall.max(0.0)));
    let properties = [
        ("seed", manifest.seed.to_string()),
        ("kernel", manifest.kernel.clone()),
        ("lasthop", manifest.lasthop.clone()),
        ("run_directory", report.directory.path.display().to_string()),
    ];
    for (name, value) in properties {
        suite.add_property((name, value.as_str()));
    }
    for line in &report.lines {
        let status = match line.verdict {
            Verdict::Pass => TestCaseStatus::success(),
            Verdict::Fail => TestCaseStatus::non_success(NonSuccessKind::Failure),
            Verdict::NotDecided => TestCaseStatus::non_success(NonSuccessKind::Error),
        };
        let status = match line.verdict {
            Verdict::Pass => status,
            verdict => {
                let mut status = status;
                status.set_message(line.explanation()).set_type(verdict.to_string());
                status
            }
        };
        let mut case = TestCase::new(line.name(), status);
        let kind = match line.subject {
            Subject::Runs => "runs",
            Subject::Requirement => "require",
            Subject::Comparison => "against",
        };
        case.set_classname(format!("{}.{kind}", manifest.plan.name));
        case.set_time(Duration::ZERO);
        case.set_system_out(line.explanation());
        if let Some(place) = line.place {
            case.extra.insert("file".into(), manifest.plan.file.as_str().into());
            case.extra.insert("line".into(), place.to_string().into());
        }
        suite.add_test_case(case);
    }
    let mut document = quick_junit::Report::new("lasthop gate");
    document.add_test_suite(suite);
    Ok(document.to_string()?)
}
