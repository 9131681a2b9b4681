//! A small checker of markup: tags nest, attributes are quoted, entities are known.

/// HTML elements that have no end tag.
const VOID: [&str; 4] = ["meta", "br", "img", "link"];

/// Panics if the text is not well-formed XML, as far as our pictures use XML.
pub(crate) fn check_xml(text: &str) {
    check(text, true, false);
}

/// Panics if tags do not nest or text holds a stray `<` or `&`; the text may stop in the middle of the page.
pub(crate) fn check_html(text: &str) {
    check(text, false, !text.trim_end().ends_with("</html>"));
}

fn check(text: &str, xml: bool, may_stop: bool) {
    let mut open: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        check_text(&rest[..at]);
        let Some(length) = rest[at..].find('>') else {
            assert!(may_stop, "a tag does not end: {:.60}", &rest[at..]);
            return;
        };
        let tag = &rest[at + 1..at + length];
        rest = &rest[at + length + 1..];
        if tag.starts_with('!') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "end tag of {name}");
            continue;
        }
        let name: String = tag.chars().take_while(char::is_ascii_alphanumeric).collect();
        assert!(!name.is_empty(), "stray < before {tag:.40}");
        check_attributes(&tag[name.len()..], xml);
        if tag.ends_with('/') || VOID.contains(&name.as_str()) {
            continue;
        }
        if name == "script" || name == "style" {
            let Some(end) = rest.find(&format!("</{name}>")) else {
                assert!(may_stop, "{name} does not end");
                return;
            };
            rest = &rest[end..];
        }
        open.push(name);
    }
    assert!(may_stop || open.is_empty(), "open at the end: {open:?}");
}

fn check_attributes(text: &str, xml: bool) {
    let mut rest = text.trim_end_matches('/').trim();
    while !rest.is_empty() {
        let name_length =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == ':')).unwrap_or(rest.len());
        assert!(name_length > 0, "attribute name in {text}");
        rest = &rest[name_length..];
        let Some(value) = rest.strip_prefix("=\"") else {
            assert!(!xml, "attribute without a quoted value in {text}");
            rest = rest.trim_start();
            continue;
        };
        let end = value.find('"').expect("the value ends");
        check_text(&value[..end]);
        rest = value[end + 1..].trim_start();
    }
}

fn check_text(text: &str) {
    for part in text.split('&').skip(1) {
        let entity = part.split(';').next().unwrap_or_default();
        assert!(["amp", "lt", "gt", "quot", "#39"].contains(&entity), "entity {entity:.20}");
    }
    assert!(!text.chars().any(|c| c.is_control() && !c.is_whitespace()), "control character in {text:.60}");
}
