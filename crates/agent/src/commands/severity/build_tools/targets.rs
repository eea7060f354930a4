//! Names of recipes, tasks, goals and scripts that a star matches: `make test`, `npm run build`,
//! `gradle :app:check`. By their names they build, test, check, format or show something. Any other may
//! deploy or delete, so a rule has to name it.

use super::{BuildCommand, has, is_option};

/// First parts of names.
#[rustfmt::skip]
const FIRST: &str = "all analyse analyze api assemble audit autofix bench benchmark benchmarks benches bundle build builds check checks \
    checkstyle classes clean clippy compile cov coverage dependencies dev doc docs e2e eslint fmt format formatting generate help jar \
    javadoc jest lint linting list mocha mypy phpstan phpunit prettier preview properties projects pytest rspec rubocop ruff serve \
    spec specs start stop storybook style stylelint svelte tasks tdd test tests tsc type typecheck types typing unit validate verify \
    vet vitest watch";

/// Further parts of names.
#[rustfmt::skip]
const FURTHER: &str = "all android api app apps asm assets backend bin browser cli client code core cov coverage css cts debug deps \
    dev doc docs e2e examples fast fix fmt format frontend full functional headless html http i18n image images int integration ios java \
    js json kotlin lib libs lint local md minimal mjs mts node only package packages parallel prod production py python quick \
    regression release rust sass server slow smoke src static styles sub system test tests ts type types ui unit update verbose \
    watch web workspace";

/// Phases and goals of Maven.
#[rustfmt::skip]
const OF_MAVEN: &str = "clean clean:clean compile compiler:compile compiler:testCompile checkstyle:check dependency:analyze dependency:list \
    dependency:resolve dependency:tree failsafe:integration-test failsafe:verify generate-sources generate-test-sources \
    initialize install integration-test jacoco:report jar:jar package pmd:check process-classes process-resources \
    process-test-classes process-test-resources site spotbugs:check spotless:apply spotless:check surefire:test test test-compile \
    validate verify";

/// Options of these tools whose value is the next word, and no recipe: programs and options.
const WITH_VALUE: &[(&str, &str)] = &[
    ("bmake", "-C"),
    (
        "gradle",
        "-x --configuration --console --exclude-task --max-workers --tests --warning-mode",
    ),
    (
        "gradlew",
        "-x --configuration --console --exclude-task --max-workers --tests --warning-mode",
    ),
    ("gmake", "-C --directory"),
    ("make", "-C --directory"),
    (
        "mvn",
        "-P -T -pl -rf --activate-profiles --projects --resume-from --threads",
    ),
    (
        "mvnw",
        "-P -T -pl -rf --activate-profiles --projects --resume-from --threads",
    ),
    ("ninja", "-C"),
];

/// Programs each of whose words is a recipe, a task or a goal.
const OF_RECIPES: &str = "bmake gmake gradle gradlew just make mvn mvnw ninja rake";

/// Returns whether all parts of a name are usual: `test`, `test:unit`, `build-release`.
pub(super) fn is_target(name: &str) -> bool {
    let mut parts = name.split(['-', '_', ':', '.']);
    let is_first = parts.next().is_some_and(|first| has(FIRST, first));
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_:.".contains(c);
    is_first && name.chars().all(is_plain) && parts.all(|part| has(FIRST, part) || has(FURTHER, part))
}

/// Returns whether a task of Gradle is usual: `test`, `:app:assembleDebug`. Its subprojects may have any
/// name.
fn is_task(path: &str) -> bool {
    let (projects, task) = path.rsplit_once(':').unwrap_or(("", path));
    let is_name = |name: &str| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let mut dashed = String::with_capacity(task.len());
    for c in task.chars() {
        if c.is_ascii_uppercase() {
            dashed.push('-');
        }
        dashed.push(c.to_ascii_lowercase());
    }
    task.starts_with(|c: char| c.is_ascii_lowercase())
        && projects.split(':').all(is_name)
        && is_target(&dashed)
}

impl BuildCommand<'_> {
    /// Returns whether the word at this place is a recipe, a task or a goal that no star matches.
    pub(super) fn is_unknown_target(&self, at: usize) -> bool {
        let word = self.words[at];
        let before = at.checked_sub(1).map_or("", |before| self.words[before]);
        if self.program == "cmake" {
            let attached = word.strip_prefix("--target=");
            let target = attached.or_else(|| self.is_behind_target(at).then_some(word));
            return target.is_some_and(|target| !is_target(target));
        }
        if is_option(word) || !has(OF_RECIPES, self.program) {
            return false;
        }
        let mut rows = WITH_VALUE.iter();
        let is_value = rows.any(|(program, options)| *program == self.program && has(options, before));
        // A number behind `-j`, and a variable that `words` judges.
        let is_other = word.chars().all(|c| c.is_ascii_digit()) || word.contains('=');
        let is_known = match self.program {
            "gradle" | "gradlew" => is_task(word),
            "mvn" | "mvnw" => has(OF_MAVEN, word),
            _ => is_target(word),
        };
        !(is_value || is_other || is_known)
    }

    /// Returns whether the word at this place is a target of `cmake --build x --target a b`.
    fn is_behind_target(&self, at: usize) -> bool {
        if is_option(self.words[at]) {
            return false;
        }
        let option = self.words[..at].iter().rfind(|word| is_option(word));
        option.is_some_and(|option| matches!(*option, "--target" | "-t"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_told_from_others() {
        for name in [
            "test",
            "test:unit",
            "build-release",
            "lint.fix",
            "test_e2e",
            "check",
        ] {
            assert!(is_target(name), "{name}");
        }
        for name in [
            "deploy",
            "test-deploy",
            "install",
            "Test",
            "",
            "test/x",
            "release",
            "db:seed",
            "test x",
        ] {
            assert!(!is_target(name), "{name}");
        }
        for task in [
            "test",
            ":app:assembleDebug",
            ":my-app:check",
            "compileKotlin",
            "testDebugUnitTest",
        ] {
            assert!(is_task(task), "{task}");
        }
        for task in [
            "publish",
            "pTML",
            "pubToMavLoc",
            ":a:publishToMavenLocal",
            "artifactoryPublish",
            "uploadArchives",
            "tT",
        ] {
            assert!(!is_task(task), "{task}");
        }
    }
}
