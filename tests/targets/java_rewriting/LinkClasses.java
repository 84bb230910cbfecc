import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Has the JVM link, and so verify, each class named in a file: prints why it refused one. */
public class LinkClasses {
    public static void main(String[] arguments) throws Exception {
        List<String> names = Files.readAllLines(Path.of(arguments[0]));
        int linked = 0, absent = 0;
        for (String name : names) {
            try {
                Class.forName(name, false, LinkClasses.class.getClassLoader()).getDeclaredMethods();
                linked++;
            } catch (NoClassDefFoundError | ClassNotFoundException | IncompatibleClassChangeError e) {
                absent++; // of another library that is not there, or is another version of it
            } catch (LinkageError e) {
                System.out.println(name + ": " + e);
            }
        }
        System.out.println(linked + " linked, " + absent + " absent");
    }
}
