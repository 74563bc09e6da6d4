//! The built-in profiles: the files of `profiles/`.

macro_rules! profiles {
    ($($name:literal)*) => {
        const BUILTIN: &[(&str, &str)] = &[
            $((concat!($name, ".toml"), include_str!(concat!("../../../../profiles/", $name, ".toml"))),)*
        ];
    };
}

profiles! {
    "geo" "gsm" "gsm-rlp" "lite-0" "lite-1" "lite-2" "lite-3" "lite-4" "lite-5" "lite-6" "lora" "lossy-wifi" "lte" "ltcp" "ltcp-lossy"
    "starlink" "umts" "wifi-b"
}

/// Returns the file name and text of each built-in profile, in the order of names.
pub fn builtin() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILTIN.iter().copied()
}
