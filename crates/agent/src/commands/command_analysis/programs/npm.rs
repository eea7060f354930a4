//! Other spellings of the subcommands of npm, for rules that deny: `npm pu` and `npm unpub` are `npm publish`
//! and `npm unpublish`, and `npm distTag` is `npm dist-tag`.
//!
//! npm accepts an unambiguous prefix of a subcommand, and capital letters for dashes. Here every subcommand
//! counts that begins with a word that is not a complete name. This applies from version 9 of the rules.

/// The subcommands, each with its other names behind `=`, parted by commas.
#[rustfmt::skip]
const SUBCOMMANDS: &[&str] = &[
    "access", "adduser=add-user,login", "audit", "bugs=issues", "cache", "ci=ic,clean-install,install-clean,isntall-clean",
    "completion", "config=c", "dedupe=ddp", "deprecate", "diff", "dist-tag=dist-tags", "docs=home", "doctor", "edit",
    "exec=x", "explain=why", "explore", "find-dupes", "fund", "get", "help=hlep", "help-search", "hook",
    "init=create,innit", "install=i,in,ins,inst,insta,instal,isnt,isnta,isntal,isntall,add",
    "install-ci-test=cit,clean-install-test,sit", "install-test=it", "link=ln", "ll=la", "logout", "ls=list", "org=ogr",
    "outdated", "owner=author", "pack", "ping", "pkg", "prefix", "profile", "prune", "publish", "query", "rebuild=rb",
    "repo", "restart", "root", "run=run-script,rum,urn", "sbom", "search=find,s,se", "set", "shrinkwrap", "star", "stars",
    "start", "stop", "team", "test=tst,t", "token", "trust", "undeprecate", "uninstall=unlink,remove,rm,r,un",
    "unpublish", "unstar", "update=up,upgrade,udpate", "version=verison", "view=info,show,v", "whoami",
];

/// Returns the subcommands that npm may take a word for, besides the one that it is. A word that is a whole
/// name is taken for that alone.
pub(crate) fn other_subcommands(word: &str) -> Vec<&'static str> {
    let written = dashed(word);
    if written.is_empty() {
        return Vec::new();
    }
    let those = |is_one: &dyn Fn(&str) -> bool| -> Vec<&'static str> {
        let entries = SUBCOMMANDS
            .iter()
            .map(|entry| entry.split_once('=').unwrap_or((*entry, "")));
        let meant = entries.filter(|(name, others)| is_one(name) || others.split(',').any(is_one));
        meant.map(|(name, _)| name).collect()
    };
    let mut found = those(&|spelling| spelling == written);
    if found.is_empty() {
        found = those(&|spelling| spelling.starts_with(&written));
    }
    found.retain(|name| *name != word);
    found
}

/// Returns a word with dashes instead of its capital letters: `distTag` is `dist-tag`.
fn dashed(word: &str) -> String {
    let mut dashed = String::with_capacity(word.len());
    for (at, c) in word.chars().enumerate() {
        if c.is_ascii_uppercase() && at > 0 {
            dashed.push('-');
        }
        dashed.push(c.to_ascii_lowercase());
    }
    dashed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subcommand_that_npm_may_take_a_word_for_is_found() {
        for (word, expected) in [
            ("pu", "publish"),
            ("unpub", "unpublish"),
            ("distTag", "dist-tag"),
            ("cleanInstall", "ci"),
            ("isntall", "install"),
            ("x", "exec"),
            ("ow", "owner"),
            ("publish", ""),
            ("deploy", ""),
            ("", ""),
        ] {
            let found = other_subcommands(word);
            assert_eq!(found.join(" "), expected, "{word}");
        }
    }
}
