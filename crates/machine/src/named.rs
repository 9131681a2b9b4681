//! Enums whose variants have stable names, as they stand in documents and on the command line: one row a variant.

/// Defines an enum with `ALL`, `name` and `from_name` from one table of variants and names.
#[macro_export]
macro_rules! named {
    ($(#[$attribute:meta])* $visibility:vis enum $Enum:ident { $($(#[$about:meta])* $Variant:ident = $name:literal,)+ }) => {
        $(#[$attribute])*
        $visibility enum $Enum { $($(#[$about])* $Variant,)+ }

        impl $Enum {
            /// All of them, in the order of their definition.
            $visibility const ALL: [Self; [$($name),+].len()] = [$(Self::$Variant),+];

            /// The stable name.
            $visibility const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)+
                }
            }

            /// The one of this name.
            $visibility fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    named! {
        /// Two.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum Two {
            /// The first.
            One = "one",
            /// The last.
            Other = "the other",
        }
    }

    #[test]
    fn each_is_found_by_its_name_alone() {
        assert_eq!(Two::ALL, [Two::One, Two::Other]);
        for one in Two::ALL {
            assert_eq!(Two::from_name(one.name()), Some(one));
        }
        assert_eq!(Two::from_name("no"), None);
    }
}
