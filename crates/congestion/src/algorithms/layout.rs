//! Where an object holds its parameters and its name, according to its BTF.

use libbpf_rs::btf::types::{DataSec, MemberAttr, Struct, Var};
use libbpf_rs::btf::{Btf, BtfType};

/// Section of the parameters, and type of the structure that is registered.
const DATA: &str = ".rodata";
const STRUCTURE: &str = "tcp_congestion_ops";

/// Offsets in an object, in bytes.
#[derive(Debug)]
pub(super) struct Layout {
    parameters: Vec<(String, usize)>,
    /// Offset of the name within the structure.
    pub name: usize,
}

impl Layout {
    /// Reads the layout of an object; `None` if it is not one of our algorithms.
    pub(super) fn of(object: &[u8]) -> Option<Self> {
        let types = Btf::from_raw("algorithm", object).ok()??;
        let data = types
            .type_by_kind::<DataSec<'_>>()
            .find(|section| section.name().is_some_and(|name| name == DATA))?;
        let mut parameters = Vec::new();
        for place in data.iter() {
            let variable = types.type_by_id::<BtfType<'_>>(place.ty)?;
            let variable = Var::try_from(variable).ok()?;
            parameters.push((variable.name()?.to_string_lossy().into_owned(), place.offset as usize));
        }
        let structure = types.type_by_name::<Struct<'_>>(STRUCTURE)?;
        let member = structure.iter().find(|member| member.name.is_some_and(|name| name == "name"))?;
        let MemberAttr::Normal { offset: bits } = member.attr else { return None };
        Some(Self { parameters, name: bits as usize / 8 })
    }

    /// Returns the offset of this parameter in the read-only data.
    pub(super) fn parameter(&self, name: &str) -> Option<usize> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, offset)| *offset)
    }

    /// Reads the value of this parameter.
    pub(super) fn value(&self, name: &str, data: &[u8]) -> Option<u32> {
        let at = self.parameter(name)?;
        Some(u32::from_ne_bytes(data.get(at..at + 4)?.try_into().ok()?))
    }

    /// Returns the number of parameters.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.parameters.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::CATALOGUE;
    use libbpf_rs::ObjectBuilder;

    /// Catalogue and sources agree on the names and defaults of all parameters.
    #[test]
    fn the_catalogue_is_what_is_in_the_objects() {
        for algorithm in CATALOGUE {
            let layout = Layout::of(algorithm.object).expect("a layout");
            assert_eq!(layout.len(), algorithm.parameters.len(), "{}", algorithm.name);
            let open = ObjectBuilder::default().open_memory(algorithm.object).expect("an object");
            let data =
                open.maps().find(|map| map.name().to_string_lossy().ends_with(DATA)).expect("read-only data");
            for parameter in algorithm.parameters {
                let value = layout.value(parameter.name, data.initial_value().expect("values"));
                assert_eq!(value, Some(parameter.default), "{} of {}", parameter.name, algorithm.name);
            }
        }
    }
}
