//! Providers that fail, each in its own way: a typed error that names what to do, and nothing lost.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::support::peer::Peer;
use crate::support::{Folder, Ran, fold};

fn asked(base_url: &str) -> Ran {
    Folder::new().run(&["ask", "hi", "--json", "--base-url", base_url])
}

#[test]
fn a_port_where_nothing_listens() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = Folder::new();
    let args = ["plan", "repaint", "--json", "--base-url", &format!("http://127.0.0.1:{port}/v1")];
    let ran = folder.run(&args).exit(1);
    let (name, message) = ran.error();
    assert_eq!(name, "ProviderError");
    assert!(message.contains("nothing listens") && message.contains(&port.to_string()), "{message}");
    assert!(ran.err.contains("hint: check --base-url"), "{ran:?}");
    assert!(!ran.out.contains("retry_after_s"), "nobody asked for a delay: {ran:?}");
    let (id, status) = folder.executions().remove(0);
    assert_eq!(status, "failed");
    assert_eq!(folder.kinds(&id), ["EXECUTION_STARTED", "EXECUTION_FAILED"]);
}

#[test]
fn statuses_pages_and_wrong_json() {
    type Case = (&'static str, &'static str, &'static str, &'static str, usize);
    const CASES: [Case; 5] = [
        ("401 Unauthorized", "application/json", "{}", "check the key", 1),
        ("404 Not Found", "application/json", "{}", "base URL", 1),
        ("500 Internal Server Error", "text/plain", "oops", "status 500", 3),
        ("200 OK", "text/html", "<html></html>", "HTML", 3),
        ("200 OK", "application/json", "[1, 2]", "cannot be read", 1),
    ];
    for (status, kind, body, told, requests) in CASES {
        let peer = Peer::serve(move |_, answer| answer.status(status, kind, body));
        let (name, message) = asked(&peer.base_url()).exit(1).error();
        assert_eq!(name, "ProviderError", "{status}");
        assert!(message.contains(told) && !message.contains("oops"), "{message}");
        let tried = peer.requests().len();
        assert!((1..=requests).contains(&tried), "{status}: {tried} requests");
    }
}

#[test]
fn a_stream_of_something_else_is_cut_off_and_typed() {
    let peer = Peer::serve(|_, answer| {
        answer.begin();
        answer.raw("data: {\"choices\": [{\"delta\": {\"content\": 7\n\n");
        answer.wait_for_hang_up();
    });
    let (name, message) = asked(&peer.base_url()).exit(1).error();
    assert_eq!(name, "ProviderError");
    assert!(message.contains("JSON"), "{message}");
}

#[test]
fn settings_that_cannot_be_used_are_refused_before_anything_is_asked() {
    let folder = Folder::new();
    for base_url in [
        "localhost:8080",
        "ftp://127.0.0.1/v1",
        "http://user:pass@127.0.0.1/v1",
        "http://127.0.0.1/v1#user:pass",
        "http://models.example/v1?key=user:pass",
        "",
    ] {
        let ran = folder.run(&["plan", "repaint", "--base-url", base_url]).exit(2);
        assert!(ran.err.contains("hint: ") && !ran.err.contains("user:pass"), "{base_url}: {ran:?}");
    }
    let mut clear = folder.loom(&["ask", "hi", "--base-url", "http://models.example/v1"]);
    let clear = Ran::of(clear.env("LOOM_API_KEY", "sk-test-1")).exit(2);
    assert!(clear.err.contains("--allow-plain-http") && !clear.err.contains("sk-test-1"), "{clear:?}");
    let mut key = folder.loom(&["ask", "hi", "--base-url", "http://127.0.0.1:9/v1"]);
    let key = Ran::of(key.env("LOOM_API_KEY", "two words")).exit(2);
    assert!(key.err.contains("LOOM_API_KEY") && !key.err.contains("two words"), "{key:?}");
    assert!(!folder.db().exists(), "no journal was made");
}

/// A key is for a provider's eyes: where none is asked, nothing of it is read.
#[test]
fn a_key_that_cannot_be_used_does_not_matter_to_the_offline_model() {
    let folder = Folder::new();
    for args in [&["ask", "hi"][..], &["ask", "hi", "--offline"], &["plan", "shed", "--offline"]] {
        Ran::of(folder.loom(args).env("LOOM_API_KEY", "bad\nkey")).ok();
    }
}

/// What is advised is what can help: another setting, or another attempt.
#[test]
fn a_hint_follows_what_can_be_done() {
    const SETTING: &str = "hint: check --base-url, --provider and --model; --offline in place of them";
    const AGAIN: &str = "hint: ask again";
    let hinted = |provider: &str, peer: &Peer, hint: &str| {
        for command in ["ask", "plan"] {
            let args = [command, "hi", "--provider", provider, "--base-url", &peer.base_url()];
            let ran = Folder::new().run(&args).exit(1);
            assert_eq!(ran.err.matches("hint: ").count(), 1, "{ran:?}");
            assert!(ran.err.contains(hint), "{ran:?}");
        }
    };
    let status = |status| Peer::serve(move |_, answer| answer.status(status, "application/json", "{}"));
    for provider in ["openai", "anthropic", "google"] {
        let key = "hint: set $LOOM_API_KEY, or the provider's own variable, to a key of this provider";
        hinted(provider, &status("401 Unauthorized"), key);
    }
    hinted("openai", &status("404 Not Found"), SETTING);
    hinted("openai", &status("402 Payment Required"), SETTING);
    hinted("openai", &status("500 Internal Server Error"), AGAIN);
    let broken = Peer::serve(|_, answer| {
        answer.begin();
        answer.say("hel");
    });
    hinted("openai", &broken, AGAIN);
}

/// A provider that says when to come back is not asked before: a short wait is waited, a long one is told.
#[test]
fn a_delay_that_a_provider_asks_for_is_waited_for_or_told() {
    let busy = "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\nconnection: close\r\n";
    let peer = Peer::serve(move |_, answer| answer.raw(&format!("{busy}retry-after: 11\r\n\r\n")));
    for command in ["ask", "plan"] {
        let ran = Folder::new().run(&[command, "hi", "--json", "--base-url", &peer.base_url()]).exit(1);
        assert!(ran.err.contains("come back in 11 s"), "{ran:?}");
        assert_eq!(ran.json().last().unwrap()["error"]["retry_after_s"], 11, "{ran:?}");
        assert_eq!(peer.requests().len(), 1);
    }

    let peer = Peer::serve(move |number, answer| {
        if number == 0 {
            answer.raw(&format!("{busy}retry-after-ms: 300\r\n\r\n"));
        } else {
            answer.begin();
            answer.say("hello");
            answer.end();
        }
    });
    let begun = Instant::now();
    let ran = asked(&peer.base_url()).ok();
    assert!(begun.elapsed() >= Duration::from_millis(300), "it came back at once");
    assert_eq!((fold(&ran.json()), peer.requests().len()), ("hello".to_owned(), 2));
}
