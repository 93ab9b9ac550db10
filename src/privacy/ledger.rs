//! The books: what each peer has released, computed from what it sent.

use super::released::Charge;

/// Who gets to see one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Receivers {
    /// The peer at the other end of one link.
    Link,
    /// All neighbours, the same value.
    Neighbours,
}

/// Releases of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// What one of them costs.
    pub charge: Charge,
    /// Who saw it.
    pub receivers: Receivers,
    /// How many there were.
    pub count: u64,
}

/// One peer's account: a line per kind of release, never one per message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    lines: Vec<Line>,
}

impl Account {
    /// Books one release.
    pub fn book(&mut self, charge: Charge, receivers: Receivers) {
        match self.lines.iter_mut().find(|l| l.charge == charge && l.receivers == receivers) {
            Some(line) => line.count += 1,
            None => self.lines.push(Line { charge, receivers, count: 1 }),
        }
    }

    /// The lines, in the order of their first release.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// How many releases left without any protection.
    pub fn clear_releases(&self) -> u64 {
        let clear = |line: &&Line| matches!(line.charge, Charge::Clear(_));
        self.lines.iter().filter(clear).map(|line| line.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pieces;
    use super::*;

    #[test]
    fn sending_twice_is_booked_twice_and_public_values_are_no_release_of_data() {
        let mut account = Account::default();
        let clear = Charge::Clear(Pieces::RECORD);
        account.book(clear, Receivers::Neighbours);
        account.book(clear, Receivers::Neighbours);
        account.book(clear, Receivers::Link);
        account.book(Charge::Public, Receivers::Link);
        assert_eq!(account.clear_releases(), 3);
        assert_eq!(account.lines().len(), 3, "one line per kind");
        assert_eq!(account.lines()[0].count, 2);
    }
}
