//! What the catalogue of flaws asks of time is what signature probes measure, in the same unit.

use flaws::catalogue;
use probes::signature::SignatureProbe;

#[test]
fn every_quantity_of_the_catalogue_has_its_probe_and_its_unit() {
    let mut seen = 0;
    for flaw in &catalogue().flaws {
        let Some(signature) = &flaw.signature else { continue };
        let probe = SignatureProbe::from_name(&signature.probe)
            .unwrap_or_else(|| panic!("{}: there is no signature probe {}", flaw.id, signature.probe));
        let measured = probe.quantity();
        let expected = (signature.quantity.as_str(), signature.unit.as_str());
        assert_eq!((measured.name, measured.unit), expected, "{}", flaw.id);
        seen += 1;
    }
    assert!(seen > 0, "the catalogue has signatures");
}
