import Configuration
import Glibc
import Observability

/// `openpushctl`: administration of a gateway from a shell.
@main struct Program {
    static func main() async {
        do {
            let arguments = try CommandArguments(Array(CommandLine.arguments.dropFirst()))
            let isHelp = arguments.isHelp || arguments.words == ["help"]
            if arguments.isVersion { return print("openpushctl \(ProgramVersion.text)") }
            guard !isHelp, !arguments.words.isEmpty else {
                print(help)
                exit(isHelp ? 0 : 64)
            }
            let report = try await Command.run(arguments)
            print(report.rendered(asJSON: arguments.isJSON))
            exit(report.status)
        } catch let failure as CommandFailure {
            Logger.writeToStandardError(failure.description)
            exit(failure.status)
        } catch let mistake as CommandArguments.Mistake {
            Logger.writeToStandardError("\(mistake) (openpushctl --help)")
            exit(64)
        } catch {
            Logger.writeToStandardError("\(error)")
            exit(70)
        }
    }

    private static let help = """
        usage: openpushctl COMMAND [--json] | --help | --version

          schema apply
          app create --name N [--environment production|sandbox] CREDENTIALS
            iOS:     --bundle-id B --team-id T --key-id K --key-file AuthKey.p8
            Android: --android-package P --fcm-key-file service-account.json
            Either or both. iOS without a key of Apple's is reached through FCM.
          app list
          app set ID [CREDENTIALS] [--open-device-routes on|off] [--identity-key-file PUBLIC.pem] [--require-identity on|off]
                     [--live-notifications on|off] [--broadcast-channels on|off]
          key create --app ID --kind rest|client|read
          key list [--app ID]
          key revoke ID
          segment create --app ID --name N --filters JSON
          campaign create --app ID --name N [--live-activity-id NAME] [--segment NAME|ID | --filters JSON]
                     [--environment production|sandbox]
          campaign list --app ID
          campaign remove --app ID --campaign NAME|ID
          notification resend-unknown ID
          doctor --app ID [--environment production|sandbox]

        OPENPUSH_DATABASE_URL says where the database is; app create, app set with credentials and doctor need OPENPUSH_MASTER_KEY as well.
        Exit status: 0 done, 1 doctor found something or nothing can be sent again, 64 wrong command, 65 wrong data, 66 unreadable file,
        69 database away, 70 refused by the database, 78 wrong configuration.
        """
}
