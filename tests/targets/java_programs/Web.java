import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** Tomcat: answers /N with the sum of squares below N; its port is the first line of its output. */
public final class Web {
    static final class Squares extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response)
            throws IOException {
            int n = Integer.parseInt(request.getPathInfo().substring(1));
            response.setContentType("application/json");
            long pid = ProcessHandle.current().pid();
            response.getWriter().print("{\"pid\": " + pid + ", \"total\": " + sum(n) + "}");
        }
    }

    static long sum(int n) {
        long total = 0;
        for (long i = 0; i < n; i++)
            total += i * i;
        return total;
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Files.createTempDirectory(Path.of(arguments[0]), "web");
        Tomcat server = new Tomcat();
        server.setBaseDir(folder.toString());
        server.setPort(0);
        server.getConnector().setProperty("address", "127.0.0.1");
        Context context = server.addContext("", folder.toString());
        Tomcat.addServlet(context, "squares", new Squares());
        context.addServletMappingDecoded("/*", "squares");
        server.start();
        System.out.println(server.getConnector().getLocalPort());
        System.out.flush();
        while (System.in.read() >= 0)
            ;
        server.stop();
        server.destroy();
        System.out.println("over");
        System.exit(0);
    }
}
