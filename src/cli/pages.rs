//! `hushmesh man` and `hushmesh completions`: what shells and manuals know of the command line.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::exit::{Code, Failure};
use super::{Arguments, print};

#[derive(Debug, clap::Args)]
pub(super) struct CompletionsArguments {
    /// The shell.
    shell: Shell,
}

#[derive(Debug, clap::Args)]
pub(super) struct ManArguments {
    /// Write one page per command here, in place of one for all to standard output.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace pages in --out.
    #[arg(long, requires = "out")]
    force: bool,
}

pub(super) fn completions(arguments: &CompletionsArguments) -> Result<Code, Failure> {
    let mut script = Vec::new();
    let mut command = Arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "hushmesh", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Code::Done)
}

pub(super) fn man(arguments: &ManArguments) -> Result<Code, Failure> {
    match &arguments.out {
        None => print(&whole())?,
        Some(folder) => {
            let pages: Vec<(String, String)> = commands()
                .iter()
                .map(|command| (format!("{}.1", title(command)), page(command)))
                .collect();
            write_all(folder, &pages, arguments.force)?;
        }
    }
    Ok(Code::Done)
}

/// The program and all its commands, each under the name that the user types.
fn commands() -> Vec<Command> {
    fn add(command: &Command, all: &mut Vec<Command>) {
        all.push(command.clone());
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            add(inner, all);
        }
    }
    let mut program = Arguments::command().disable_help_subcommand(true);
    program.build();
    let mut all = Vec::new();
    add(&program, &mut all);
    all
}

/// `hushmesh-topology-show`, say.
fn title(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

/// The page of one command.
fn page(command: &Command) -> String {
    let man = Man::new(command.clone()).title(title(command)).source(version());
    let mut out = Vec::new();
    let head = man.render_title(&mut out).and_then(|()| man.render_name_section(&mut out));
    head.expect("memory takes it");
    text(out) + &sections(command) + &exit_status()
}

/// One page of everything: the program's, with the other commands as sections of it.
fn whole() -> String {
    let commands = commands();
    let Some((program, inner)) = commands.split_first() else { return String::new() };
    let man = Man::new(program.clone()).source(version());
    let mut out = Vec::new();
    let head = man.render_title(&mut out).and_then(|()| man.render_name_section(&mut out));
    head.expect("memory takes it");
    let mut out = text(out) + &sections(program);
    for command in inner {
        let name = command.get_bin_name().unwrap_or(command.get_name());
        out += &Roff::new().control("SH", [name.to_uppercase().as_str()]).to_roff();
        // One level down.
        out += &sections(command).replace("\n.SH ", "\n.SS ").replacen(".SH ", ".SS ", 1);
    }
    out + &exit_status()
}

/// What a command's page has of its own.
fn sections(command: &Command) -> String {
    let man = Man::new(command.clone());
    let mut out = Vec::new();
    let mut render = || -> io::Result<()> {
        man.render_synopsis_section(&mut out)?;
        man.render_description_section(&mut out)?;
        if command.get_arguments().any(|argument| !argument.is_hide_set()) {
            man.render_options_section(&mut out)?;
        }
        if command.has_subcommands() {
            man.render_subcommands_section(&mut out)?;
        }
        Ok(())
    };
    render().expect("memory takes it");
    text(out) + &examples(command)
}

/// The lines under "Example" in a command's help, as they are.
fn examples(command: &Command) -> String {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut roff = Roff::new();
    roff.control("SH", ["EXAMPLES"]).control("nf", []);
    for line in help.lines().filter(|line| line.starts_with("  hushmesh ")) {
        roff.text([roman(line.trim_start())]);
    }
    roff.control("fi", []).to_roff()
}

fn exit_status() -> String {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for code in Code::ALL {
        roff.control("TP", []);
        roff.text([roman((code as u8).to_string())]).text([roman(code.meaning())]);
    }
    roff.to_roff()
}

fn version() -> &'static str {
    concat!("hushmesh ", env!("CARGO_PKG_VERSION"))
}

fn text(roff: Vec<u8>) -> String {
    String::from_utf8(roff).expect("help is text")
}

/// Writes all files or none: first beside their places, then all into them.
fn write_all(folder: &Path, files: &[(String, String)], force: bool) -> Result<(), Failure> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| Failure {
        code: Code::Files,
        text: format!("error: {}: {error}", path.display()),
    };
    if let Some((name, _)) = files.iter().find(|(name, _)| !force && folder.join(name).exists()) {
        return Err(failed(&folder.join(name), &"exists; --force replaces it"));
    }
    let is_new = !folder.exists();
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let beside = |name: &str| folder.join(format!(".{name}.unfinished"));
    let write = || {
        for (name, text) in files {
            fs::write(beside(name), text).map_err(|error| failed(&beside(name), &error))?;
            // A file cannot take the place of a folder.
            if folder.join(name).is_dir() {
                return Err(failed(&folder.join(name), &"is a directory"));
            }
        }
        for (name, _) in files {
            let place = folder.join(name);
            fs::rename(beside(name), &place).map_err(|error| failed(&place, &error))?;
        }
        Ok(())
    };
    write().inspect_err(|_| {
        // What cannot be removed either is hidden, and named as unfinished.
        for (name, _) in files {
            let _ = fs::remove_file(beside(name));
        }
        if is_new {
            let _ = fs::remove_dir(folder);
        }
    })
}
