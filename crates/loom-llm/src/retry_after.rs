//! How long a provider asks to be left alone.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// The longest delay taken from a header, in seconds; a longer one counts as this.
pub(crate) const RETRY_AFTER_MAX_SECONDS: u64 = 86_400;

/// The delay in `retry-after-ms`, else in `retry-after` (seconds or an HTTP date); none where neither can be read.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let millis = text("retry-after-ms").and_then(|text| delay_in(text, 1000.0));
    let delay = millis.or_else(|| {
        let value = text(RETRY_AFTER.as_str())?;
        let seconds = delay_in(value, 1.0);
        seconds.or_else(|| Some(http_date(value)?.duration_since(now).unwrap_or_default()))
    })?;
    Some(delay.min(Duration::from_secs(RETRY_AFTER_MAX_SECONDS)))
}

/// A number of such parts of a second, whole or not; one too large to hold is the longest.
fn delay_in(text: &str, parts: f64) -> Option<Duration> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = text.parse().ok().filter(|_| is_number)?;
    Some(Duration::try_from_secs_f64(number / parts).unwrap_or(Duration::MAX))
}

/// Reads an IMF-fixdate (RFC 9110 §5.6.7), as in `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_once(", ")?.1.strip_suffix(" GMT")?.split(' ');
    let day: u64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|month| *month == name)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut clock = words.next()?.splitn(3, ':');
    // The last second of a day may be a leap second.
    let [hour, minute, second] =
        [23, 59, 60].map(|most| clock.next()?.parse().ok().filter(|n: &u64| *n <= most));
    let (hour, minute, second) = (hour?, minute?, second?);
    // Days since the epoch by the civil calendar, with the year starting in March so that leap days come last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let seconds = (days - 719_468) * 86_400 + hour * 3_600 + minute * 60 + second;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The text of a moment, by counting years and months instead of computing them.
    fn told_by_counting(seconds: u64) -> String {
        let leap =
            |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let (mut days, clock) = (seconds / 86_400, seconds % 86_400);
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][(days % 7) as usize];
        let mut year = 1970;
        while days >= 365 + u64::from(leap(year)) {
            days -= 365 + u64::from(leap(year));
            year += 1;
        }
        let february = 28 + u64::from(leap(year));
        let months = [
            ("Jan", 31),
            ("Feb", february),
            ("Mar", 31),
            ("Apr", 30),
            ("May", 31),
            ("Jun", 30),
            ("Jul", 31),
            ("Aug", 31),
            ("Sep", 30),
            ("Oct", 31),
            ("Nov", 30),
            ("Dec", 31),
        ];
        let month = months.iter().find(|(_, length)| {
            let inside = days < *length;
            days -= if inside { 0 } else { *length };
            inside
        });
        let (month, day) = (month.unwrap().0, days + 1);
        let (hour, minute, second) = (clock / 3_600, clock / 60 % 60, clock % 60);
        format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
    }

    proptest! {
        /// For all moments up to the year 9999.
        #[test]
        fn every_date_is_read_as_the_calendar_counts_it(seconds in 0_u64..253_402_300_800) {
            let read = http_date(&told_by_counting(seconds));
            prop_assert_eq!(read, Some(UNIX_EPOCH + Duration::from_secs(seconds)));
        }

        /// For all texts.
        #[test]
        fn no_text_is_too_strange_and_no_delay_too_long(text in "[ -~]{0,40}|[A-Z][a-z]{2}, [0-9]{1,20} [A-Z][a-z]{2} [0-9]{1,20} [0-9:]{0,12} GMT") {
            let delay = delay_of("retry-after", &text).unwrap_or_default();
            prop_assert!(delay <= Duration::from_secs(RETRY_AFTER_MAX_SECONDS));
        }
    }

    #[test]
    fn the_days_round_every_end_of_february_are_read() {
        for year in 0..400 {
            // From the last of January 2000 on, one year a step.
            let start = 949_276_800 + (year * 146_097 / 400) * 86_400;
            for day in 0..35 {
                let seconds = start + day * 86_400 + 86_399;
                let read = http_date(&told_by_counting(seconds));
                assert_eq!(read, Some(UNIX_EPOCH + Duration::from_secs(seconds)), "{seconds}");
            }
        }
        assert_eq!(told_by_counting(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT", "the date in RFC 9110");
    }

    fn delay_of(name: &'static str, value: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        // One second before the date in RFC 9110.
        retry_after(&headers, UNIX_EPOCH + Duration::from_secs(784_111_776))
    }

    #[test]
    fn seconds_milliseconds_and_dates_are_read() {
        assert_eq!(delay_of("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(delay_of("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(delay_of("retry-after-ms", "250.5"), Some(Duration::from_micros(250_500)));
        assert_eq!(delay_of("retry-after", "1.5"), Some(Duration::from_millis(1_500)));
        assert_eq!(delay_of("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::from_secs(1)));
        assert_eq!(delay_of("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT"), Some(Duration::ZERO));
        let leap = http_date("Tue, 29 Feb 2000 00:00:00 GMT").unwrap();
        assert_eq!(leap, UNIX_EPOCH + Duration::from_secs(951_782_400));
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(UNIX_EPOCH));
    }

    #[test]
    fn absurd_delays_are_cut_and_unreadable_ones_ignored() {
        for name in ["retry-after", "retry-after-ms"] {
            for digits in [11, 40] {
                let longest = Some(Duration::from_secs(RETRY_AFTER_MAX_SECONDS));
                assert_eq!(delay_of(name, &"9".repeat(digits)), longest, "{name} of {digits} digits");
            }
        }
        for value in [
            "soon",
            "-1",
            "",
            "x, ",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
        ] {
            assert_eq!(delay_of("retry-after", value), None, "{value}");
        }
    }
}
