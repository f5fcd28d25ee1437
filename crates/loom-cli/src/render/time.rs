//! A time as people read it.

const MS_A_DAY: u64 = 86_400_000;

/// Unix milliseconds as UTC to the second: `2026-11-30 22:13:01Z`.
pub(super) fn utc(at_ms: u64) -> String {
    let (year, month, day) = date(at_ms / MS_A_DAY);
    let second = at_ms % MS_A_DAY / 1_000;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

/// The civil date of a day since 1970-01-01, by counting years of 146,097-day cycles that begin in March, so that the
/// leap day is a year's last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (cycle, day_of_cycle) = (days / 146_097, days % 146_097);
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_cycle + cycle * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_utc() {
        assert_eq!(utc(0), "1970-01-01 00:00:00Z");
        assert_eq!(utc(951_782_399_999), "2000-02-28 23:59:59Z");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00Z");
        assert_eq!(utc(1_764_540_781_000), "2025-11-30 22:13:01Z");
        assert_eq!(utc(4_107_542_400_000), "2100-03-01 00:00:00Z");
    }

    #[test]
    fn each_day_follows_the_one_before() {
        let mut before = date(0);
        for day in 1..200_000 {
            let now = date(day);
            let next_day = now.2 == before.2 + 1 && (now.0, now.1) == (before.0, before.1);
            let next_month =
                now.2 == 1 && before.2 >= 28 && (now.1 == before.1 + 1 || (now.1, before.1) == (1, 12));
            assert!(next_day || next_month, "{before:?} {now:?}");
            before = now;
        }
    }
}
