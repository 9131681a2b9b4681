//! How the next boot gets another command line here: text for the user, from what can be read of the boot loader.
//!
//! Nothing is edited: a boot loader that is wrong leaves a machine that does not start. Sources: the manuals of GRUB
//! ("Simple configuration handling"), grubby(8), systemd-boot(7), kernel-install(8), kexec(8).

use host::Root;

use super::condition::{Condition, Departure};

/// An EFI variable read as a file begins with its attributes. Source: Linux, Documentation/filesystems/efivarfs.rst.
const ATTRIBUTE_BYTES: usize = 4;

/// What starts the kernel here, as far as files tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootLoader {
    /// GRUB with a tool that edits all its entries.
    Grubby,
    /// GRUB with a configuration that is made anew by the command.
    Grub {
        /// That command.
        command: &'static str,
    },
    /// systemd-boot, with the folder of its entries.
    SystemdBoot {
        /// That folder.
        entries: &'static str,
        /// True if new entries are made from `/etc/kernel/cmdline`.
        has_kernel_file: bool,
    },
    /// Nothing known.
    Unknown,
}

/// One thing that the user does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// In words.
    Prose(String),
    /// A command, as root, for a shell.
    Command(String),
}

impl Step {
    /// The text of either.
    pub fn text(&self) -> &str {
        match self {
            Self::Prose(text) | Self::Command(text) => text,
        }
    }
}

/// What can start a kernel from the running one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kexec {
    /// The running kernel's image.
    pub image: String,
    /// Its first file system, if there is one.
    pub initrd: Option<String>,
}

/// Looks for the boot loader.
pub fn boot_loader(root: &Root) -> BootLoader {
    let any = |paths: &[&'static str]| paths.iter().copied().find(|path| root.exists(path));
    let told = loader_info(root).unwrap_or_default();
    let entries = [
        ("/boot/loader/loader.conf", "/boot/loader/entries"),
        ("/efi/loader/loader.conf", "/efi/loader/entries"),
        ("/boot/efi/loader/loader.conf", "/boot/efi/loader/entries"),
    ];
    let entries = entries.into_iter().find(|(file, _)| root.exists(file)).map(|(_, folder)| folder);
    let has_grub = any(&["/boot/grub2/grub.cfg", "/boot/grub/grub.cfg", "/etc/default/grub"]).is_some();
    if told.starts_with("systemd-boot") || (entries.is_some() && !has_grub) {
        let has_kernel_file = root.exists("/etc/kernel/cmdline");
        return BootLoader::SystemdBoot {
            entries: entries.unwrap_or("/boot/loader/entries"),
            has_kernel_file,
        };
    }
    if !has_grub {
        return BootLoader::Unknown;
    }
    if any(&["/usr/sbin/grubby", "/sbin/grubby", "/usr/bin/grubby"]).is_some() {
        return BootLoader::Grubby;
    }
    let command = if any(&["/usr/sbin/update-grub", "/sbin/update-grub"]).is_some() {
        "update-grub"
    } else if any(&["/boot/grub2/grub.cfg"]).is_some() {
        "grub2-mkconfig -o /boot/grub2/grub.cfg"
    } else {
        "grub-mkconfig -o /boot/grub/grub.cfg"
    };
    BootLoader::Grub { command }
}

/// What systemd-boot, and GRUB from 2.12 on, say of themselves to the running system, in UTF-16 as all text of EFI.
/// Source: Boot Loader Interface, `LoaderInfo`.
fn loader_info(root: &Root) -> Option<String> {
    let bytes =
        root.bytes("/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f").ok()?;
    let (units, _) = bytes.get(ATTRIBUTE_BYTES..)?.as_chunks::<2>();
    let units: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    Some(String::from_utf16_lossy(&units))
}

/// What kexec would need, if it is installed.
pub fn kexec(root: &Root, kernel: Option<&str>) -> Option<Kexec> {
    ["/usr/sbin/kexec", "/sbin/kexec"].into_iter().find(|path| root.exists(path))?;
    let release = kernel?.trim_start_matches("Linux ");
    let image = format!("/boot/vmlinuz-{release}");
    let initrds = [format!("/boot/initrd.img-{release}"), format!("/boot/initramfs-{release}.img")];
    let initrd = initrds.into_iter().find(|path| root.exists(path));
    root.exists(&image).then_some(Kexec { image, initrd })
}

/// What the user does so that the next boot is as wanted.
pub fn steps(loader: &BootLoader, wanted: &Condition, command_line: &str) -> Vec<Step> {
    let departure = wanted.departure(command_line);
    let mut lines = Vec::new();
    if let Some(told) = &wanted.told {
        lines.push(Step::Prose(format!(
            "set {told} (systemctl reboot --firmware-setup leads to the firmware's menu)"
        )));
    }
    if departure.is_none() {
        lines.push(Step::Prose("the command line stays as it is".to_owned()));
    } else {
        lines.extend(edit(loader, &departure));
    }
    lines.push(Step::Prose("reboot".to_owned()));
    lines
}

fn edit(loader: &BootLoader, departure: &Departure) -> Vec<Step> {
    let change = departure.change();
    match loader {
        BootLoader::Grubby => vec![Step::Command(grubby(departure))],
        BootLoader::Grub { command } => vec![
            Step::Prose(format!(
                "in /etc/default/grub, GRUB_CMDLINE_LINUX or GRUB_CMDLINE_LINUX_DEFAULT: {change}"
            )),
            Step::Command((*command).to_owned()),
        ],
        BootLoader::SystemdBoot { entries, has_kernel_file } => {
            let also = if *has_kernel_file { ", and the same in /etc/kernel/cmdline" } else { "" };
            vec![Step::Prose(format!(
                "in the entry of {entries} that is booted, in its line options: {change}{also}"
            ))]
        }
        BootLoader::Unknown => vec![Step::Prose(format!(
            "no boot loader was found by reading (a virtual machine's host may set the command line): {change}"
        ))],
    }
}

fn grubby(departure: &Departure) -> String {
    let part = |flag: &str, words: &[String]| {
        (!words.is_empty()).then(|| format!(" {flag}={}", shell_quoted(&words.join(" "))))
    };
    let parts = [part("--remove-args", &departure.surplus), part("--args", &departure.missing)];
    format!("grubby --update-kernel=DEFAULT{}", parts.into_iter().flatten().collect::<String>())
}

/// What holds for this boot loader whatever the arm.
pub fn remarks(loader: &BootLoader) -> Vec<String> {
    let menu = |key: &str| {
        format!("for one boot alone: {key} in the menu of the boot loader, change the line, start it")
    };
    match loader {
        BootLoader::Grubby | BootLoader::Grub { .. } | BootLoader::SystemdBoot { .. } => {
            vec![menu("press e")]
        }
        BootLoader::Unknown => Vec::new(),
    }
}

/// The command that boots by kexec, unless the line holds what would have to be quoted twice.
pub fn kexec_command(kexec: &Kexec, wanted: &Condition, command_line: &str) -> Option<String> {
    if wanted.told.is_some() || command_line.contains(['"', '\'']) {
        return None;
    }
    let Departure { missing, surplus } = wanted.departure(command_line);
    let (own, rest) = match command_line.split_once(" -- ") {
        Some((own, rest)) => (own, format!(" -- {rest}")),
        None => (command_line, String::new()),
    };
    let kept = own.split_whitespace().filter(|word| !surplus.iter().any(|other| other == word));
    let words: Vec<&str> = kept.chain(missing.iter().map(String::as_str)).collect();
    let line = shell_quoted(&format!("{}{rest}", words.join(" ")));
    let initrd =
        kexec.initrd.as_ref().map_or_else(String::new, |path| format!(" --initrd={}", shell_quoted(path)));
    Some(format!("kexec -l {}{initrd} --command-line={line} && systemctl kexec", shell_quoted(&kexec.image)))
}

/// One word for a shell, whatever it holds.
fn shell_quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=,:+@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::condition::Conditions;
    use super::*;

    const LOADER_INFO: &str = "sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

    /// A machine with these files.
    fn with_files(paths: &[&str]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for path in paths.iter().chain(&["/proc/cmdline"]) {
            let path = folder.path().join(path.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            std::fs::write(path, "").expect("a file");
        }
        let root = Root::open(folder.path()).expect("a machine");
        (folder, root)
    }

    #[test]
    fn each_boot_loader_is_known_by_its_files() {
        let systemd = |entries| BootLoader::SystemdBoot { entries, has_kernel_file: false };
        let grub = |command| BootLoader::Grub { command };
        for (paths, expected) in [
            (vec![], BootLoader::Unknown),
            (vec!["/boot/grub/grub.cfg", "/usr/sbin/update-grub"], grub("update-grub")),
            (vec!["/boot/grub2/grub.cfg"], grub("grub2-mkconfig -o /boot/grub2/grub.cfg")),
            (
                vec!["/boot/grub2/grub.cfg", "/usr/sbin/grubby", "/boot/loader/loader.conf"],
                BootLoader::Grubby,
            ),
            (vec!["/etc/default/grub"], grub("grub-mkconfig -o /boot/grub/grub.cfg")),
            (vec!["/efi/loader/loader.conf"], systemd("/efi/loader/entries")),
        ] {
            let (_folder, root) = with_files(&paths);
            assert_eq!(boot_loader(&root), expected, "{paths:?}");
        }
    }

    #[test]
    fn a_boot_loader_that_says_its_name_is_believed() {
        let (folder, root) = with_files(&["/boot/grub/grub.cfg", LOADER_INFO, "/etc/kernel/cmdline"]);
        let mut bytes = vec![6, 0, 0, 0];
        bytes.extend("systemd-boot 252\0".encode_utf16().flat_map(u16::to_le_bytes));
        std::fs::write(folder.path().join(LOADER_INFO), bytes).expect("a file");
        let expected = BootLoader::SystemdBoot { entries: "/boot/loader/entries", has_kernel_file: true };
        assert_eq!(boot_loader(&root), expected);
    }

    #[test]
    fn the_steps_name_every_word_and_hold_for_a_shell() {
        let arms = Conditions::parse(["x=1", "x=;rm nosmt"], [None, None]).expect("arms");
        let line = "quiet x=1 -- init";
        let steps = |loader, arm, line| -> Vec<String> {
            steps(loader, arm, line).iter().map(|step| step.text().to_owned()).collect()
        };
        assert_eq!(
            steps(&BootLoader::Grubby, &arms.b, line),
            ["grubby --update-kernel=DEFAULT --remove-args=x=1 --args='x=;rm nosmt'", "reboot"]
        );
        assert_eq!(steps(&BootLoader::Unknown, &arms.a, line), ["the command line stays as it is", "reboot"]);
        let found = Kexec { image: "/boot/vmlinuz-6.1".to_owned(), initrd: Some("/boot/initrd".to_owned()) };
        assert_eq!(
            kexec_command(&found, &arms.b, line).expect("plain"),
            "kexec -l /boot/vmlinuz-6.1 --initrd=/boot/initrd --command-line='quiet x=;rm nosmt -- init' && systemctl kexec"
        );
        assert_eq!(kexec_command(&found, &arms.b, "a='b c'"), None);
        let told = Conditions::parse(["", ""], [Some("turbo on"), Some("turbo off")]).expect("arms");
        assert!(steps(&BootLoader::Unknown, &told.b, line)[0].starts_with("set turbo off (systemctl"));
    }

    #[test]
    fn kexec_is_offered_where_the_running_kernels_image_lies() {
        let files = ["/sbin/kexec", "/boot/vmlinuz-6.1", "/boot/initramfs-6.1.img"];
        let (_folder, root) = with_files(&files);
        let expected = Kexec {
            image: "/boot/vmlinuz-6.1".to_owned(),
            initrd: Some("/boot/initramfs-6.1.img".to_owned()),
        };
        assert_eq!(kexec(&root, Some("Linux 6.1")), Some(expected));
        assert_eq!(kexec(&root, Some("Linux 6.2")), None);
        assert_eq!(kexec(&root, None), None);
    }
}
