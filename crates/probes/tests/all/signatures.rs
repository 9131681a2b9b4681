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
        let quantity = probe.quantities().iter().find(|quantity| quantity.name == signature.quantity);
        let unit = quantity.map(|quantity| quantity.unit);
        assert_eq!(unit, Some(signature.unit.as_str()), "{}: {}", flaw.id, signature.quantity);
        seen += 1;
    }
    assert!(seen > 0, "the catalogue has signatures");
}
