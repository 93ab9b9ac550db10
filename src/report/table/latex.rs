//! Tables for papers: LaTeX with the booktabs package.

use super::super::number::Medium;
use super::{Alignment, Table};

impl Table {
    /// A LaTeX `table` with its caption, if it has one, for a document that uses `booktabs`.
    ///
    /// All that pdflatex cannot set is written out in commands; what has none is written as its
    /// number, such as `[U+6771]`.
    ///
    /// ```
    /// use hushmesh::report::{Cell, Column, Table};
    /// let mut table = Table::new([Column::text("graph"), Column::number("λ₂")]).caption("Graphs");
    /// table.row(["ring".into(), 3.2e-8.into()]);
    /// assert_eq!(table.to_latex(), r"\begin{table}
    ///   \centering
    ///   \caption{Graphs}
    ///   \begin{tabular}{l r}
    ///     \toprule
    ///     graph & $\lambda_{2}$ \\
    ///     \midrule
    ///     ring & $3.2\times10^{-8}$ \\
    ///     \bottomrule
    ///   \end{tabular}
    /// \end{table}
    /// ");
    /// ```
    pub fn to_latex(&self) -> String {
        let letter = |alignment| match alignment {
            Alignment::Left => "l",
            Alignment::Right | Alignment::Decimal => "r",
        };
        let letters: Vec<&str> = self.columns.iter().map(|c| letter(c.alignment)).collect();
        let line = |cells: Vec<String>| format!("    {} \\\\\n", cells.join(" & "));
        let mut out = String::from("\\begin{table}\n  \\centering\n");
        if let Some(caption) = &self.caption {
            out += &format!("  \\caption{{{}}}\n", escape(caption));
        }
        out += &format!("  \\begin{{tabular}}{{{}}}\n    \\toprule\n", letters.join(" "));
        out += &line(self.columns.iter().map(|column| escape(&column.titled(""))).collect());
        out += "    \\midrule\n";
        for row in &self.rows {
            out += &line(row.iter().map(|cell| cell.show(Medium::Latex)).collect());
        }
        out + "    \\bottomrule\n  \\end{tabular}\n\\end{table}\n"
    }
}

/// How LaTeX is told of one character.
enum Sign {
    /// Between formulas.
    Text(String),
    /// Within a formula.
    Formula(&'static str),
    /// Below or above the line, within a formula: `_` or `^`, and what stands there.
    Script(char, char),
}

/// Text in which LaTeX finds nothing to obey.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::new();
    let mut in_formula = false;
    let mut chars = text.chars().peekable();
    let mut before = None;
    // No base takes two scripts of a kind, so each but the first gets an empty one.
    let mut after_script = false;
    while let Some(c) = chars.next() {
        let sign = sign(c);
        if in_formula == matches!(sign, Sign::Text(_)) {
            out.push('$');
            in_formula = !in_formula;
            after_script = false;
        }
        match sign {
            Sign::Text(text) => {
                // Two dashes in a row would become a longer one, two quotes a double one.
                if before == Some(c) && matches!(c, '-' | '\'' | ',')
                    || matches!((before, c), (Some('?' | '!'), '`'))
                {
                    out.push_str("{}");
                }
                out.push_str(&text);
            }
            Sign::Formula(command) => {
                out.push_str(command);
                // A letter right after the command would become part of its name.
                if command.ends_with(|c: char| c.is_ascii_alphabetic())
                    && chars
                        .peek()
                        .is_some_and(|&next| matches!(self::sign(next), Sign::Formula(_)))
                {
                    out.push(' ');
                }
                after_script = false;
            }
            Sign::Script(place, script) => {
                if after_script {
                    out.push_str("{}");
                }
                out.extend([place, '{', script]);
                while let Some(&next) = chars.peek() {
                    match self::sign(next) {
                        Sign::Script(same, script) if same == place => out.push(script),
                        _ => break,
                    }
                    chars.next();
                }
                out.push('}');
                after_script = true;
            }
        }
        before = Some(c);
    }
    if in_formula {
        out.push('$');
    }
    out
}

fn sign(c: char) -> Sign {
    if let Some(command) = formula(c) {
        return Sign::Formula(command);
    }
    if let Some((place, script)) = script(c) {
        return Sign::Script(place, script);
    }
    let text = match c {
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => return Sign::Text(format!("\\{c}")),
        '~' => "\\textasciitilde{}",
        '^' => "\\textasciicircum{}",
        '\\' => "\\textbackslash{}",
        // At the head of a row these would be arguments of the line break before it.
        '[' => "{[}",
        ']' => "{]}",
        '*' => "{*}",
        '`' | '\u{2018}' => "{`}",
        '\u{2019}' => "'",
        '"' | '\u{201d}' => "{''}",
        '\u{201c}' => "{``}",
        '–' => "{--}",
        '—' => "{---}",
        '…' => "\\ldots{}",
        '§' => "\\S{}",
        '\u{a0}' => "~",
        '\u{202f}' | '\u{2009}' => "\\,",
        c if c.is_control() => " ",
        c if c.is_ascii() => return Sign::Text(c.to_string()),
        // Letters with accents, which pdflatex puts together; it lacks these four.
        'À'..='ÿ' if !matches!(c, 'Ð' | 'Þ' | 'ð' | 'þ') => return Sign::Text(c.to_string()),
        c => return Sign::Text(format!("{{[}}U+{:04X}{{]}}", c as u32)),
    };
    Sign::Text(text.to_owned())
}

/// What only a formula has.
fn formula(c: char) -> Option<&'static str> {
    Some(match c {
        '<' => "<",
        '>' => ">",
        '|' => "|",
        'α' => "\\alpha",
        'β' => "\\beta",
        'γ' => "\\gamma",
        'δ' => "\\delta",
        'ε' => "\\varepsilon",
        'ϵ' => "\\epsilon",
        'ζ' => "\\zeta",
        'η' => "\\eta",
        'θ' => "\\theta",
        'ι' => "\\iota",
        'κ' => "\\kappa",
        'λ' => "\\lambda",
        'μ' | 'µ' => "\\mu",
        'ν' => "\\nu",
        'ξ' => "\\xi",
        'π' => "\\pi",
        'ρ' => "\\rho",
        'σ' => "\\sigma",
        'τ' => "\\tau",
        'υ' => "\\upsilon",
        'φ' => "\\varphi",
        'ϕ' => "\\phi",
        'χ' => "\\chi",
        'ψ' => "\\psi",
        'ω' => "\\omega",
        'Γ' => "\\Gamma",
        'Δ' => "\\Delta",
        'Θ' => "\\Theta",
        'Λ' => "\\Lambda",
        'Ξ' => "\\Xi",
        'Π' | '∏' => "\\Pi",
        'Σ' | '∑' => "\\Sigma",
        'Φ' => "\\Phi",
        'Ψ' => "\\Psi",
        'Ω' => "\\Omega",
        'ℓ' => "\\ell",
        '∇' => "\\nabla",
        '∂' => "\\partial",
        '±' => "\\pm",
        '∓' => "\\mp",
        '\u{2212}' => "-",
        '×' => "\\times",
        '÷' => "\\div",
        '·' | '⋅' => "\\cdot",
        '√' => "\\surd",
        '∞' => "\\infty",
        '≤' => "\\le",
        '≥' => "\\ge",
        '≠' => "\\ne",
        '≈' => "\\approx",
        '∝' => "\\propto",
        '≡' => "\\equiv",
        '∈' => "\\in",
        '∉' => "\\notin",
        '∪' => "\\cup",
        '∩' => "\\cap",
        '‖' | '∥' => "\\|",
        '→' => "\\to",
        '←' => "\\gets",
        '↔' => "\\leftrightarrow",
        '⇒' => "\\Rightarrow",
        '°' => "{}^{\\circ}",
        '′' => "{}'",
        _ => return None,
    })
}

/// Whether a character stands below or above the line, and which it is there.
fn script(c: char) -> Option<(char, char)> {
    let place = |scripts: &str| scripts.chars().position(|script| script == c);
    let (below, above) = ("₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₙₘₓ", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁱʲᵏⁿᵐˣ");
    let plain = |at: usize| "0123456789+-ijknmx".chars().nth(at);
    let below = place(below).and_then(plain).map(|plain| ('_', plain));
    below.or_else(|| place(above).and_then(plain).map(|plain| ('^', plain)))
}

#[cfg(test)]
mod tests {
    use super::super::{Cell, Column};
    use super::*;
    use proptest::prelude::*;

    /// Reads escaped text the way TeX does, as far as it goes here: braces and dollars balance,
    /// nothing special is bare, no base has two scripts of a kind.
    fn check(latex: &str) -> Result<(), String> {
        let mut depth = 0_i32;
        let mut in_formula = false;
        let mut scripts = String::new();
        let mut chars = latex.chars().peekable();
        while let Some(c) = chars.next() {
            let fault = match c {
                '\\' => {
                    scripts.clear();
                    let mut name = String::new();
                    while let Some(letter) = chars.next_if(char::is_ascii_alphabetic) {
                        name.push(letter);
                    }
                    if name.is_empty() {
                        !chars.next().is_some_and(|c| "&%$#_{},|;".contains(c))
                    } else {
                        // A command in text ends where its empty group says, one in a formula at
                        // whatever is no letter.
                        let mut group = || chars.next() == Some('{') && chars.next() == Some('}');
                        !in_formula && !group()
                    }
                }
                '$' => {
                    in_formula = !in_formula;
                    scripts.clear();
                    chars.peek() == Some(&'$') || depth > 0
                }
                '{' => {
                    depth += 1;
                    scripts.clear();
                    false
                }
                '}' => {
                    depth -= 1;
                    depth < 0
                }
                '_' | '^' => {
                    let twice = scripts.contains(c);
                    let kept = format!("{scripts}{c}");
                    if chars.next() != Some('{') {
                        return Err(format!("a script without a group in {latex}"));
                    }
                    while chars.next().is_some_and(|c| c != '}') {}
                    scripts = kept;
                    !in_formula || twice
                }
                '&' | '%' | '#' => true,
                '[' | '*' => depth == 0 && !in_formula,
                c => {
                    scripts.clear();
                    c.is_control() || !(c.is_ascii() || ('À'..='ÿ').contains(&c))
                }
            };
            if fault {
                return Err(format!("{c} in {latex}"));
            }
        }
        if depth == 0 && !in_formula { Ok(()) } else { Err(format!("not closed: {latex}")) }
    }

    #[test]
    fn hostile_text_is_harmless() {
        for (text, latex) in [
            (r"a_b & 50% $1 #2 {x}", r"a\_b \& 50\% \$1 \#2 \{x\}"),
            (r"~^\", r"\textasciitilde{}\textasciicircum{}\textbackslash{}"),
            (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
            ("a\n\n\u{1b}[2J\0%", r"a   {[}2J \%"),
            ("λ₂ ≤ 3±1", r"$\lambda_{2}$ $\le$ 3$\pm$1"),
            ("(ε, δ)", r"($\varepsilon$, $\delta$)"),
            ("εδ", r"$\varepsilon \delta$"),
            ("10⁻¹²₃⁴", "10$^{-12}{}_{3}{}^{4}$"),
            ("1 – 2 × ∞ µs", r"1 {--} 2 $\times$ $\infty$ $\mu$s"),
            ("--flag ?` [x] *", r"-{}-flag ?{}{`} {[}x{]} {*}"),
            ("<b>|", "$<$b$>|$"),
            ("naïve 東", "naïve {[}U+6771{]}"),
        ] {
            assert_eq!(escape(text), latex);
            check(latex).unwrap();
        }
        for bad in ["a_b", "50%", "$x", "{", "}", "$x_{1}_{2}$", r"\textbackslash a", "λ", "a$$"] {
            assert!(check(bad).is_err(), "the test's own reader let {bad} pass");
        }
    }

    #[test]
    fn a_table_for_a_paper_has_rules_and_formulas() {
        let mut table = Table::new([
            Column::text("graph & co"),
            Column::number("accuracy").unit("%"),
            Column::number("more"),
            Column::amount("time"),
        ]);
        let more = Cell::Difference { mean: 37.8, low: 36.7, high: 38.9, significant: true };
        let accuracy = Cell::Interval { mean: 97.4189, low: 97.11, high: 97.73 };
        table.row(["[ring]".into(), accuracy, more, Cell::Seconds(-3.2e-6)]);
        table.row(["b".into(), 12_345.0.into()]);
        let expected = r"\begin{table}
  \centering
  \begin{tabular}{l r r r}
    \toprule
    graph \& co & accuracy (\%) & more & time \\
    \midrule
    {[}ring{]} & $97.42 \pm 0.31$ & $+37.8 \pm 1.1{}^{*}$ & $-$3.2 $\mu$s \\
    b & $12{,}345$ & {--} & {--} \\
    \bottomrule
  \end{tabular}
\end{table}
";
        assert_eq!(table.to_latex(), expected);
    }

    proptest! {
        #[test]
        fn nothing_special_is_left_bare(text in any::<String>(), odd in "[-λ₂²μ×$_^{}\\\\&%#~?!`',\\[*|<>]{0,20}") {
            prop_assert_eq!(check(&escape(&text)), Ok(()));
            prop_assert_eq!(check(&escape(&odd)), Ok(()));
        }

        #[test]
        fn every_number_is_a_formula(mean: f64, low: f64, high: f64, significant: bool) {
            for cell in [
                Cell::Number(mean),
                Cell::Interval { mean, low, high },
                Cell::Difference { mean, low, high, significant },
                Cell::Seconds(mean),
            ] {
                prop_assert_eq!(check(&cell.show(Medium::Latex)), Ok(()));
            }
        }
    }
}
